---------------------------- MODULE WeightSync ----------------------------
(* Weights are swapped under live requests, whatever fails: replicas,
   controllers that come and go, a trainer that borrows devices, and the
   network between them.

   What is legal, and what changes, is in the generated modules Gate and Sync
   alone; Replicas and Controllers say what happens around them, System what
   there is. Here: what can happen next, what must come of it, and states that
   must be reached. Which faults a configuration has is said by Faults.

   Left out, and why that is sound:
   - A message that can no longer act is dropped. Pruned, G6 and G8 ask the
     tables whether it is so; a table that let it act breaks one of them.
   - No set of answers: what a controller concludes is read from gates as they
     are, within the epoch of its operation, and is true there until it ends.
   - A place for a request is used again: a request that is settled leaves
     nothing behind in its gate (G4), so ids need not go on for ever.
   - Real lengths of time: a deadline passes at any time. That windows are long
     enough is an assumption of A1 alone ("timely").
   - A renewal that comes late, mode "abort" and escalation, what becomes of
     one request, and held requests: in RequestPath, for one gate. *)
EXTENDS Controllers, TLC

Next ==
  \/ Seal \/ Drain \/ Install \/ Reopen \/ Resume \/ Close
  \/ Lend \/ Returned \/ Renew \/ Poison
  \/ Deadline
  \/ Admit \/ Arrive \/ Settle \/ Orphan \/ GiveUp \/ Freeze \/ Frozen \/ Thawed
  \/ Rest \/ Quiesced \/ Installed \/ InstallFailed
  \/ TrainingEnds \/ TrainerCrash \/ Store
  \/ Replace
  \/ Begin \/ Sealed \/ Drained \/ Proved \/ Declined \/ Record \/ Closed \/ Drop
  \/ Train \/ Trained
  \/ Drive \/ Again \/ Raise \/ Settled
  \/ Takeover \/ Overruled \/ Claim

Spec == Init /\ [][Next]_vars

\* In the end every timer runs out.
TimerOf(r) == r \in Armed /\ \E a \in OfDeadline(r) : Becomes(a)
FairSpec == Spec /\ \A r \in Replica : WF_vars(TimerOf(r))

\* Nobody stops: messages arrive, requests end, devices and the trainer get on, controllers do what is next.
SettleOf(r) == r \in Served /\ \E a \in OfSettle(r) : Becomes(a)
RestOf(r) == r \in Ending /\ \E a \in OfRest(r) : Becomes(a)
LivelySpec ==
  /\ Spec
  /\ \A r \in Replica : WF_vars(SettleOf(r)) /\ WF_vars(RestOf(r))
  /\ WF_vars(Seal) /\ WF_vars(Drain) /\ WF_vars(Install) /\ WF_vars(Reopen) /\ WF_vars(Resume) /\ WF_vars(Close)
  /\ WF_vars(Lend) /\ WF_vars(Returned)
  /\ WF_vars(Freeze) /\ WF_vars(Frozen) /\ WF_vars(Thawed) /\ WF_vars(Quiesced) /\ WF_vars(Installed)
  /\ WF_vars(TrainingEnds)
  /\ WF_vars(Sealed) /\ WF_vars(Drained) /\ WF_vars(Proved) /\ WF_vars(Declined) /\ WF_vars(Record) /\ WF_vars(Closed)
  /\ WF_vars(Drop) /\ WF_vars(Train) /\ WF_vars(Trained)
  /\ WF_vars(Drive) /\ WF_vars(Again) /\ WF_vars(Raise) /\ WF_vars(Settled) /\ WF_vars(Claim)

\* Replicas are alike, and so are the places for requests, and ranks: for safety only.
Alike == Permutations(Replica) \cup Permutations(Slot) \cup Permutations(Rank)

-----------------------------------------------------------------------------
(* Properties, by the names of the contract. *)

\* A token is made by the weights that its label names.
G1 == \A r \in Replica : \A s \in Places(r, {"runs"}) : \A k \in Rank :
        node[r].lease[s].label = <<node[r].held[k]>>

\* While installing nothing is active or orphaned, and the device is really idle on all ranks.
G2 == \A r \in Replica : node[r].gate.state = "INSTALLING" =>
        /\ node[r].gate.active = {} /\ node[r].gate.orphaned = {}
        /\ node[r].busy = {} /\ Places(r, {"runs"}) = {}

\* An open gate says what every rank holds.
G3 == \A r \in Replica : node[r].gate.state \in {"OPEN", "REOPENED"} =>
        \A k \in Rank : node[r].gate.version = <<node[r].held[k]>>

\* A request is in exactly one place of its gate until it is settled, and in none after.
G4 == \A r \in Replica :
        /\ node[r].gate.active \cup node[r].gate.suspended \cup node[r].gate.orphaned
             = {s \in Slot : node[r].lease[s].does # "nothing"}
        /\ node[r].gate.active \cap node[r].gate.suspended = {}
        /\ (node[r].gate.active \cup node[r].gate.suspended) \cap node[r].gate.orphaned = {}

\* Whether a command would change gate g, asked of the table.
Commands == {"Seal", "Drain", "Lend", "Returned", "Install", "Resume", "Reopen", "Close", "Renew", "Escalate", "Poison"}
Acts(name, g, t, e) ==
  CASE name = "Seal"     -> GateSeal_acts(g, t, e, Mode, Window)
    [] name = "Drain"    -> GateDrain_acts(g, t, e)
    [] name = "Lend"     -> GateLend_acts(g, t, e, e)
    [] name = "Returned" -> GateReturned_acts(g, t, e, e)
    [] name = "Install"  -> \E v \in 1..MaxVersion : GateInstall_acts(g, t, e, v, Digests(v))
    [] name = "Resume"   -> GateResume_acts(g, t, e)
    [] name = "Reopen"   -> GateReopen_acts(g, t, e)
    [] name = "Close"    -> GateClose_acts(g, t, e)
    [] name = "Renew"    -> GateRenew_acts(g, t, e, Window)
    [] name = "Escalate" -> GateEscalate_acts(g, t, e, "keep")
    [] name = "Poison"   -> GatePoison_acts(g, t)

\* Epoch, term and published never fall, a version only rises.
G5 == "G5" \notin wrong

\* Poison is for ever, and admits nothing; so is every closed gate, as long as it is closed.
G6 == /\ "G6" \notin wrong /\ "admission" \notin wrong
      /\ \A r \in Replica : ~Live(r) => \A name \in Commands : \A e \in {0, 1} :
           ~Acts(name, node[r].gate, node[r].gate.term, node[r].gate.epoch + e)

\* The controller that rules, at rest, has every live gate of its own open at what is published, and nothing
\* on its way closes one.
G7 == (ctl[Ruler].sync.state = "IDLE" /\ ctl[Ruler].settled) =>
        \A r \in Claimed(Ruler) :
          /\ node[r].gate.state = "OPEN" /\ node[r].gate.version = durable.published
          /\ \A mes \in Sent("Seal") : mes.to = r =>
               ~GateSeal_acts(node[r].gate, mes.term, mes.epoch, Mode, Window)

\* Once a gate has accepted a term, no lower term changes it: no command of one would act, whatever its epoch.
G8 == \A r \in Replica : \A t \in 1..(node[r].gate.term - 1) :
        /\ ~GateClaim_acts(node[r].gate, t)
        /\ \A name \in Commands : \A e \in {0, 1} : ~Acts(name, node[r].gate, t, node[r].gate.epoch + e)

\* A process that has just begun: it was never sealed, and took the place of one that may have been.
IsNew(r) == node[r].gate.version = <<>> /\ node[r].gate.epoch = 0

\* No drain before every member has acknowledged the seal; what its own deadline reopened refuses install.
G9 == /\ \A mes \in Sent("Drain") :
           (mes.epoch = ctl[mes.term].sync.epoch
            /\ ctl[mes.term].sync.state \notin {"IDLE", "ROLLING_BACK", "FAILED"}) =>
           \A r \in ctl[mes.term].sync.members : node[r].gate.epoch >= mes.epoch \/ IsNew(r)
      /\ \A r \in Replica : node[r].gate.state = "INSTALLING" => ~node[r].expired

\* Unless its own deadline reopened it, a gate serves nothing above what is published.
Recorded == "deadline" \in Faults \/ \A r \in Replica :
  (node[r].gate.state \in {"OPEN", "REOPENED"} /\ node[r].gate.version # <<>>) =>
    (durable.published # <<>> /\ node[r].gate.version[1] <= durable.published[1])

\* What a message that was dropped carried would change nothing: in its states and of older epochs.
Pruned == \A r \in Replica : \A name \in Commands \ {"Renew", "Escalate", "Poison"} :
            /\ node[r].gate.state \in Past(name) => ~Acts(name, node[r].gate, node[r].gate.term, node[r].gate.epoch)
            /\ \A e \in 0..(node[r].gate.epoch - 1) : ~Acts(name, node[r].gate, node[r].gate.term, e)

\* Where nothing fails but controllers, the trainer and whole replicas, and windows are long enough, nothing is poisoned.
A1 == \A r \in Replica : Live(r)

\* A verified install is poisoned by no deadline, and by no controller while its bytes are or can be made durable.
A2 == "A2" \notin wrong

\* Nothing is generated on a device that the trainer uses.
T2 == \A r \in trainer.uses : /\ node[r].busy = {} /\ Places(r, {"runs"}) = {} /\ node[r].loads = {}
                              /\ node[r].gate.state \in {"DRAINING", "POISONED"}

Closing(r) == node[r].gate.state \in {"SEALED", "DRAINING", "INSTALLING"}

\* Every seal of a gate with weights ends reopened or poisoned.
L1 == \A r \in Replica : (Closing(r) /\ node[r].gate.version # <<>>) ~> ~Closing(r)

\* If nothing fails, what is begun is published, and every gate opens there.
Everywhere(v) == durable.published = <<v>> /\ \A r \in Replica : node[r].gate.state = "OPEN" /\ node[r].gate.version = <<v>>
L5 == \A v \in 1..MaxVersion : (durable.newest = v) ~> (Everywhere(v) \/ durable.newest > v)

\* If controllers only crash and one comes after the last, every gate comes home to what is published.
ComesHome == <>[](\A r \in Replica : node[r].gate.state = "OPEN" /\ node[r].gate.version = durable.published)

\* A lent device is given back.
GivenBack == \A r \in Replica : (node[r].gate.lent # <<>>) ~> (node[r].gate.lent = <<>>)

(* States that must be reached: each is checked as if it could not be. *)
NeverReopensNew == \A r \in Replica : ~(node[r].gate.state = "REOPENED" /\ node[r].gate.version = <<1>>)
NeverPoisoned   == \A r \in Replica : Live(r)
NeverRollsBack  == \A t \in DOMAIN ctl : ctl[t].sync.state # "ROLLING_BACK"
NeverSuspends   == \A r \in Replica : node[r].gate.suspended = {}
NeverPublishes  == durable.published = <<0>>
NeverCatchesUp  == \A t \in DOMAIN ctl : ctl[t].epoch <= ctl[t].sync.epoch
NeverOrphans    == \A r \in Replica : node[r].gate.orphaned = {}
NeverExpires    == \A r \in Replica : ~node[r].expired
NeverTakenOver  == \A r \in Replica : ~(node[r].gate.term = 2 /\ node[r].gate.state = "INSTALLING")
NeverRefused    == \A t \in DOMAIN ctl : Present(t)
NeverJoins      == \A r \in Replica : ~(node[r].gate.state = "OPEN" /\ node[r].gate.version = <<1>> /\ durable.epoch > 0)
NeverLent       == trainer.uses = {}
NeverReturned   == \A r \in Replica : ~(node[r].gate.state = "INSTALLING" /\ node[r].gate.target = node[r].gate.version)
NeverReplaced   == ~(\E r \in Replica : node[r].gate.version = <<>>) \/ durable.published # <<1>>
NeverCondemned  == Sent("Poison") = {}
NeverRaises     == ~(Ruler = 2 /\ durable.published = <<1>> /\ ctl[2].sync.version = <<>>)
=============================================================================
