---------------------------- MODULE Controllers ----------------------------
(* Controllers: operations by the table of Sync, and driving one gate after
   the other towards open at the published version: rolling back, catching
   up, a replica that joins, takeover.

   - A controller reads gates as they are: answers carry numbered snapshots,
     and what is concluded from one stays true within its epoch. What it
     believes to be published is its own, and may be old.
   - It drives the gates that it has claimed. A claim is sent when a
     controller begins and when a replica begins, and arrives at any time or
     never, so it is one step.
   - Writes of the registers are one step with what they conclude: a crash
     between them has no other outcome than one before the first or after the
     last, since nothing is sent in between.
   - A sending to several gates is one step, too: what is never delivered was
     never sent.
   - A controller that rules no more goes on, if such faults are meant, until
     it is refused. One that has crashed is one that never goes on; where
     only that is meant, it is gone as soon as the next begins. *)
EXTENDS Replicas

To(members, name, t, e, v) == {Message(r, name, t, e, v) : r \in members}

\* SendReopen and SendResume are done by driving each member, below.
Sends(outs, t) ==
  IF Emits(outs, "SendSeal") THEN To(Emitted(outs, "SendSeal").members, "Seal", t, Emitted(outs, "SendSeal").epoch, 0)
  ELSE IF Emits(outs, "SendDrain")
  THEN To(Emitted(outs, "SendDrain").members, "Drain", t, Emitted(outs, "SendDrain").epoch, 0)
  ELSE IF Emits(outs, "SendLend") /\ "pause" \notin Scene
  THEN To(Emitted(outs, "SendLend").members, "Lend", t, Emitted(outs, "SendLend").epoch, 0)
  ELSE IF Emits(outs, "SendInstall")
  THEN To(Emitted(outs, "SendInstall").members, "Install", t, Emitted(outs, "SendInstall").epoch,
          Emitted(outs, "SendInstall").version)
  ELSE {}

\* What is so when controller t has become c, the registers d, and what was put out is sent: ctl, durable, msgs
\* and wrong.
Sending(t, c, d, outs) ==
  <<[ctl EXCEPT ![t] = c], d,
    IF outs = <<>> THEN msgs ELSE msgs \cup {x \in Sends(outs, t) : MayAct(x, node[x.to].gate)},
    IF durable.published # <<>> /\ (d.published = <<>> \/ d.published[1] < durable.published[1])
    THEN wrong \cup {"G5"} ELSE wrong>>

Operates(a) == ctl' = a[1] /\ durable' = a[2] /\ msgs' = a[3] /\ wrong' = a[4] /\ UNCHANGED <<node, trainer>>

\* An event of Sync: s is what follows and what is put out.
Stepping(t, s) == Sending(t, [ctl[t] EXCEPT !.sync = s[1]], durable, s[2])

Are(states) == {t \in DOMAIN ctl : ctl[t].sync.state \in states}

Claimed(t) == {r \in Replica : Live(r) /\ node[r].gate.term = t}

-----------------------------------------------------------------------------
(* An operation. *)

\* What an operation may be: a version, and whether the devices are lent first.
Operations(t) ==
  (IF durable.newest < MaxVersion THEN {<<durable.newest + 1, FALSE>>} ELSE {})
  \cup
  (IF Scene \cap {"lend", "pause"} # {} /\ ctl[t].sync.published # <<>> THEN {<<ctl[t].sync.published[1], TRUE>>} ELSE {})

OfBegin(t, op) ==
  {Sending(t, [ctl[t] EXCEPT !.sync = s[1], !.epoch = durable.epoch + 1, !.settled = FALSE, !.trains = FALSE],
           [durable EXCEPT !.epoch = @ + 1, !.newest = IF op[1] > @ THEN op[1] ELSE @], s[2]) :
     s \in {SyncBegin_step(ctl[t].sync, durable.epoch + 1, op[1], Claimed(t), Mode, op[2])} \ {<<>>}}

Beginning == {t \in Are({"IDLE"}) : Claimed(t) # {}}

Begin ==
  /\ durable.epoch < MaxEpoch
  /\ Beginning # {}
  /\ \E a \in UNION {UNION {OfBegin(t, op) : op \in Operations(t)} : t \in Beginning} : Operates(a)

Target(t) == ctl[t].sync.version[1]

Awaited(t) == ctl[t].sync.members \ ctl[t].sync.answered

\* Members that are in the operation's epoch, and not poisoned.
AtEpoch(t) == {r \in Awaited(t) : Live(r) /\ node[r].gate.epoch = ctl[t].sync.epoch}

IsDrained(g) == g.state = "DRAINING" /\ g.active = {} /\ g.orphaned = {} /\ g.quiet = Rank

Proves(t, r) ==
  /\ node[r].gate.version = ctl[t].sync.version
  /\ node[r].gate.resident /\ node[r].gate.verified = Rank

\* The gate refuses an install: it is open again on what it held, or holds that version already, as after a pause.
Refuses(t, r) ==
  LET g == node[r].gate
  IN IF g.state = "DRAINING" THEN g.version = ctl[t].sync.version /\ g.resident
     ELSE g.state \in {"OPEN", "REOPENED"} /\ ~Proves(t, r)

\* Members that have drained, installed, refused to install, closed.
AreDrained(t) == {r \in AtEpoch(t) : IsDrained(node[r].gate)}
AreProved(t) == {r \in AtEpoch(t) : Proves(t, r)}
AreUnmoved(t) == {r \in AtEpoch(t) \ ctl[t].sync.refusing : Refuses(t, r)}
AreClosed(t) == {r \in AtEpoch(t) : node[r].gate.state = "OPEN"}

OfSealed(t) == {Stepping(t, s) : s \in {SyncSealed_step(ctl[t].sync, r) : r \in AtEpoch(t)} \ {<<>>}}
OfDrained(t) == {Stepping(t, s) : s \in {SyncDrained_step(ctl[t].sync, r) : r \in AreDrained(t)} \ {<<>>}}
OfProved(t) == {Stepping(t, s) : s \in {SyncInstalled_step(ctl[t].sync, r) : r \in AreProved(t)} \ {<<>>}}
OfDeclined(t) == {Stepping(t, s) : s \in {SyncDeclined_step(ctl[t].sync, r) : r \in AreUnmoved(t)} \ {<<>>}}
OfClosed(t) == {Stepping(t, s) : s \in {SyncClosed_step(ctl[t].sync, r) : r \in AreClosed(t)} \ {<<>>}}

Sealed ==
  /\ Are(SyncSealed_states) # {}
  /\ \E t \in Are(SyncSealed_states) : AtEpoch(t) # {}
  /\ \E a \in UNION {OfSealed(t) : t \in Are(SyncSealed_states)} : Operates(a)

Drained ==
  /\ Are(SyncDrained_states) # {}
  /\ \E t \in Are(SyncDrained_states) : AreDrained(t) # {}
  /\ \E a \in UNION {OfDrained(t) : t \in Are(SyncDrained_states)} : Operates(a)

Proved ==
  /\ Are(SyncInstalled_states) # {}
  /\ \E t \in Are(SyncInstalled_states) : AreProved(t) # {}
  /\ \E a \in UNION {OfProved(t) : t \in Are(SyncInstalled_states)} : Operates(a)

Declined ==
  /\ Are(SyncDeclined_states) # {}
  /\ \E t \in Are(SyncDeclined_states) : AreUnmoved(t) # {}
  /\ \E a \in UNION {OfDeclined(t) : t \in Are(SyncDeclined_states)} : Operates(a)

Closed ==
  /\ Are(SyncClosed_states) # {}
  /\ \E t \in Are(SyncClosed_states) : AreClosed(t) # {}
  /\ \E a \in UNION {OfClosed(t) : t \in Are(SyncClosed_states)} : Operates(a)

\* Controller t after it was told that a higher term rules.
Overrules(t) ==
  LET s == SyncOverruled(ctl[t].sync) IN IF s.state = "FAILED" THEN Gone(t) ELSE [ctl[t] EXCEPT !.sync = s]

\* The register takes version v if no higher term rules and it holds no higher one; s is the Sync that has published
\* it. Else the controller has failed.
Publishing(t, s, v) ==
  IF t = Ruler /\ (durable.published = <<>> \/ v >= durable.published[1])
  THEN Sending(t, [ctl[t] EXCEPT !.sync = s], [durable EXCEPT !.published = <<v>>], <<>>)
  ELSE Sending(t, Overrules(t), durable, <<>>)

OfRecord(t) ==
  IF IsDurable(Target(t))
  THEN {Publishing(t, s[1], Target(t)) : s \in {SyncRecorded_step(ctl[t].sync)} \ {<<>>}} ELSE {}

Record ==
  /\ Are(SyncRecorded_states) # {}
  /\ \E a \in UNION {OfRecord(t) : t \in Are(SyncRecorded_states)} : Operates(a)

\* It can no longer answer what is waited for.
Lost(t, r) ==
  \/ ~Live(r)
  \/ node[r].gate.term # t
  \/ ctl[t].sync.state = "DRAINING" /\ node[r].expired
  \/ ctl[t].sync.state = "LENT" /\ node[r].gate.state \in {"OPEN", "REOPENED"}
  \/ IF ctl[t].sync.state = "SEALING"
     THEN node[r].gate.epoch # ctl[t].sync.epoch /\ \A x \in Sent("Seal") : x.to # r \/ x.epoch # ctl[t].sync.epoch
     ELSE node[r].gate.epoch # ctl[t].sync.epoch
  \/ ctl[t].sync.state = "ROLLING_BACK" /\ ctl[t].sync.published = <<>>

\* A member did not answer in time; where none is silent, only one that cannot answer.
Leaving(t) == IF "silence" \in Faults THEN Awaited(t) ELSE {r \in Awaited(t) : Lost(t, r)}

OfDrop(t) == {Stepping(t, s) : s \in {SyncDrop_step(ctl[t].sync, r) : r \in Leaving(t)} \ {<<>>}}

Drop ==
  /\ Are(SyncDrop_states) # {}
  /\ \E t \in Are(SyncDrop_states) : Leaving(t) # {}
  /\ \E a \in UNION {OfDrop(t) : t \in Are(SyncDrop_states)} : Operates(a)

-----------------------------------------------------------------------------
(* A lent device. *)

IsLent(t, r) == node[r].gate.lent = <<ctl[t].sync.epoch>> /\ node[r].gate.epoch = ctl[t].sync.epoch

\* The trainer begins on the devices that were lent.
Train ==
  /\ "lend" \in Scene
  /\ Are({"LENT"}) # {}
  /\ trainer.uses = {}
  /\ \E t \in {y \in Are({"LENT"}) : ~ctl[y].trains /\ \A r \in ctl[y].sync.members : IsLent(y, r)} :
       /\ trainer' = [trainer EXCEPT !.uses = ctl[t].sync.members]
       /\ ctl' = [ctl EXCEPT ![t].trains = TRUE]
       /\ UNCHANGED <<node, durable, msgs, wrong>>

\* It has ended, well or not, and the devices have been given back; or they were lent to nobody, and the pause ends.
OfTrained(t) ==
  IF (ctl[t].trains \/ "pause" \in Scene) /\ \A r \in ctl[t].sync.members : ~IsLent(t, r)
  THEN {Stepping(t, s) : s \in {SyncTrained_step(ctl[t].sync)} \ {<<>>}} ELSE {}

Trained ==
  /\ Scene \cap {"lend", "pause"} # {}
  /\ trainer.uses = {}
  /\ Are(SyncTrained_states) # {}
  /\ \E a \in UNION {OfTrained(t) : t \in Are(SyncTrained_states)} : Operates(a)

-----------------------------------------------------------------------------
(* Driving one gate, from its snapshot, towards open at what the controller
   knows to be published. It sends without asking whether the gate is ready:
   a gate that is not refuses, and is asked again. *)

Above(t, v) == v # <<>> /\ (ctl[t].sync.published = <<>> \/ v[1] > ctl[t].sync.published[1])

NextMessage(t, r, g) ==
  LET home == ctl[t].sync.published
      own  == ctl[t].epoch
  IN CASE Above(t, g.version) -> Message(r, "Poison", t, 0, 0)
       [] g.state = "OPEN" /\ g.version # home -> Message(r, "Seal", t, own, 0)
       [] g.state = "OPEN" /\ g.version = home -> Message(r, "Resume", t, own, 0)
       [] g.lent # <<>> -> Message(r, "Returned", t, g.epoch, g.lent[1])
       [] g.state \in {"SEALED", "DRAINING"} /\ g.version = home /\ g.resident -> Message(r, "Resume", t, g.epoch, 0)
       [] g.state = "SEALED" -> IF g.epoch < own THEN Message(r, "Seal", t, own, 0) ELSE Message(r, "Drain", t, g.epoch, 0)
       [] g.state = "DRAINING" -> Message(r, "Install", t, g.epoch, home[1])
       [] g.state = "INSTALLING" -> Message(r, "Reopen", t, g.epoch, 0)
       [] g.state = "REOPENED" -> Message(r, "Close", t, g.epoch, 0)

\* Nothing is reopened above what is published; what is above it is poisoned if its bytes are nowhere.
Drivable(t, g) ==
  /\ g.term = t /\ g.state # "POISONED"
  /\ ctl[t].sync.published # <<>>
  /\ Above(t, g.version) => g.version[1] \in trainer.lost
  /\ g.state = "INSTALLING" => ~Above(t, g.target) \/ Above(t, g.version)

Driven(t) ==
  CASE ctl[t].sync.state = "IDLE" /\ ~ctl[t].settled -> Replica \ trainer.uses
    [] ctl[t].sync.state = "LENT" /\ ctl[t].trains -> {r \in ctl[t].sync.members \ trainer.uses : IsLent(t, r)}
    [] ctl[t].sync.state \in {"REOPENING", "ROLLING_BACK"} -> ctl[t].sync.members
    [] OTHER -> {}

OfDrive(t) == {NextMessage(t, r, node[r].gate) : r \in {y \in Driven(t) : Drivable(t, node[y].gate)}}

Driving == {t \in Are({"IDLE", "LENT", "REOPENING", "ROLLING_BACK"}) : Driven(t) # {}}

Drive ==
  /\ Driving # {}
  /\ \E mes \in UNION {OfDrive(t) : t \in Driving} :
       /\ mes \notin msgs
       /\ MayAct(mes, node[mes.to].gate)
       /\ mes.ev = "Seal" => ctl[mes.term].sync.state = "IDLE"
       /\ msgs' = msgs \cup {mes}
       /\ UNCHANGED <<node, ctl, durable, trainer, wrong>>

Watching == {t \in Are({"IDLE"}) : ~ctl[t].settled}

\* Its epoch must be closed anew for a gate, and no number of the controller's own is left for that.
NeedsEpoch(t, g) ==
  /\ Drivable(t, g) /\ ~Above(t, g.version)
  /\ \/ g.state = "OPEN" /\ g.version # ctl[t].sync.published /\ g.epoch >= ctl[t].epoch
     \/ g.state = "SEALED" /\ ~(g.version = ctl[t].sync.published /\ g.resident)
        /\ (g.epoch > ctl[t].epoch \/ ctl[t].epoch = 0)

Lacking == {t \in Watching : \E r \in Replica : NeedsEpoch(t, node[r].gate)}

Again ==
  /\ durable.epoch < MaxEpoch
  /\ Lacking # {}
  /\ \E t \in Lacking :
       Operates(Sending(t, [ctl[t] EXCEPT !.epoch = durable.epoch + 1], [durable EXCEPT !.epoch = @ + 1], <<>>))

\* The versions that a gate holds or installs.
Reaches(g) == {u[1] : u \in {g.version, IF g.state = "INSTALLING" THEN g.target ELSE <<>>} \ {<<>>}}

\* A gate is above what is published, and the bytes are durable: publish them.
OfRaise(t) == UNION {{v \in Reaches(node[r].gate) : Above(t, <<v>>) /\ IsDurable(v)} : r \in Claimed(t)}

Raising == {t \in Watching : OfRaise(t) # {}}

Raise ==
  /\ Raising # {}
  /\ \E a \in UNION {{Publishing(t, SyncRestore(ctl[t].sync, durable.epoch, <<v>>), v) : v \in OfRaise(t)} : t \in Raising} :
       Operates(a)

Home(t, g) == g.state = "OPEN" /\ g.version = ctl[t].sync.published /\ g.epoch >= ctl[t].epoch

Settling ==
  {t \in Watching : t = Ruler /\ ctl[t].sync.published # <<>> /\ \A r \in Claimed(t) : Home(t, node[r].gate)}

Settled ==
  /\ Settling # {}
  /\ \E t \in Settling :
       /\ ctl' = [ctl EXCEPT ![t].settled = TRUE]
       /\ UNCHANGED <<node, durable, trainer, msgs, wrong>>

-----------------------------------------------------------------------------
(* Controllers come and go. *)

\* A controller of a higher term begins.
Takeover ==
  /\ Faults \cap {"controller-crash", "stale-controller"} # {}
  /\ Ruler < MaxTerm
  /\ ctl' = Append(IF "stale-controller" \in Faults THEN ctl ELSE [ctl EXCEPT ![Ruler] = Gone(Ruler)],
                   Rising(Ruler + 1, durable.epoch, durable.published))
  /\ UNCHANGED <<node, durable, trainer, msgs, wrong>>

\* It is told that a higher term rules.
Overruled ==
  /\ Ruler > 1
  /\ \E t \in {y \in DOMAIN ctl : y # Ruler /\ Present(y)} : Operates(Sending(t, Overrules(t), durable, <<>>))

OfClaim(t, r) ==
  {<<After(r, p, {}), [ctl EXCEPT ![t].settled = FALSE]>> : p \in ByStep(node[r], GateClaim_step(node[r].gate, t))}

Claim ==
  /\ {r \in Replica : node[r].gate.term < Ruler} # {}
  /\ \E x \in UNION {UNION {OfClaim(t, r) : r \in Replica} : t \in {y \in DOMAIN ctl : Present(y)}} :
       /\ node' = x[1][1] /\ msgs' = x[1][2] /\ wrong' = x[1][3] /\ ctl' = x[2]
       /\ UNCHANGED <<durable, trainer>>
=============================================================================
