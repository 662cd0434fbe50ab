-------------------------- MODULE TraceWeightSync --------------------------
(* Whether a logged run is a behaviour of WeightSync.

   A log is a sequence of logged steps of gates and controllers, in an order
   that the rules of the trace allow. Each is matched with the action of the
   model that it names; what the log says of the instance afterwards must be
   so. A step that changes nothing is not in it: the replay on the tables
   judges it.

   What nobody logs is left free, but is taken only where the next logged step
   needs it, so that TLC ends quickly: the engine begins to freeze, a rank
   makes its last pass, a message is sent, the trainer begins and ends. Of a
   process that was killed the last steps may be missing: they are taken
   where a controller's step needs them, its requests ending one by one.

   A window of a run begins with a start, whose hidden parts are as permissive
   as the logged ones allow.

   Where a real controller is less bound than the model's:
   - It begins an operation with those members that it believes to live.
   - It takes a number from the counter for each catching up.
   - It renews a window as often as it likes.
   - It also pauses: it lends the drained devices to nobody, and goes on.
   - A process that finds its own device in doubt poisons its gate: for the
     model that is a process that ends, whose gate still answers. *)
EXTENDS WeightSync, LoggedRun, TLC

(* The module LoggedRun, which is made from a trace, has
     Logs:    sequences of logged steps, each a behaviour of its own
     Starts:  for each the state before its first step: node, ctl, durable, trainer, msgs
     Wanted:  which of them is to be shown
     Reached: a number of its explained steps: for showing how it comes to be reached *)

VARIABLES
  which,   \* the log
  at       \* how many of its steps are explained

TraceInit ==
  /\ which \in 1..Len(Logs)
  /\ node = Starts[which].node /\ ctl = Starts[which].ctl /\ durable = Starts[which].durable
  /\ trainer = Starts[which].trainer /\ msgs = Starts[which].msgs
  /\ wrong = {}
  /\ at = 0

\* What is logged of a record that became x.
AsLogged(e, x) == \A f \in DOMAIN e.set : x[f] = e.set[f]

\* The gate of e's replica has stepped, and is as logged.
OfGate(e) == node'[e.of] # node[e.of] /\ AsLogged(e, node'[e.of].gate)

\* The Sync of e's term has stepped, and is as logged.
OfSync(e) == e.of \in DOMAIN ctl' /\ AsLogged(e, ctl'[e.of].sync)

-----------------------------------------------------------------------------
(* Where a real controller, or process, is less bound. *)

BeginAs(e) ==
  /\ e.of \in DOMAIN ctl /\ ctl[e.of].sync.state = "IDLE"
  /\ \A r \in e.members : node[r].gate.term = e.of
  /\ e.version <= durable.newest + 1
  /\ \E s \in {SyncBegin_step(ctl[e.of].sync, durable.epoch + 1, e.version, e.members, Mode, e.lend)} \ {<<>>} :
       /\ ctl' = [ctl EXCEPT ![e.of] =
                    [@ EXCEPT !.sync = s[1], !.epoch = durable.epoch + 1, !.settled = FALSE, !.trains = FALSE]]
       /\ msgs' = msgs \cup {x \in Sends(s[2], e.of) : MayAct(x, node[x.to].gate)}
  /\ durable' = [durable EXCEPT !.epoch = @ + 1, !.newest = IF e.version > @ THEN e.version ELSE @]
  /\ UNCHANGED <<node, trainer, wrong>>

\* The number is the next one of the counter; it is for bringing one gate to what is published.
AgainAs(e) ==
  /\ e.of \in DOMAIN ctl /\ ctl[e.of].sync.state = "IDLE"
  /\ e.epoch = durable.epoch + 1
  /\ <<e.version>> = ctl[e.of].sync.published
  /\ ctl' = [ctl EXCEPT ![e.of].epoch = e.epoch]
  /\ durable' = [durable EXCEPT !.epoch = e.epoch]
  /\ UNCHANGED <<node, trainer, msgs, wrong>>

\* The gate of replica r steps by itself; t is the pair of its step.
GateAlone(r, t) ==
  \E p \in ByStep(node[r], t) :
    /\ node' = [node EXCEPT ![r] = p]
    /\ msgs' = {x \in msgs : x.to # r \/ MayAct(x, p.gate)}
    /\ UNCHANGED <<ctl, durable, trainer, wrong>>

\* A pause ends: nothing was lent, and nothing that would lend is on its way.
TrainedAs(e) ==
  /\ e.of \in DOMAIN ctl /\ ~ctl[e.of].trains
  /\ trainer.uses = {} /\ \A r \in ctl[e.of].sync.members : ~IsLent(e.of, r)
  /\ \E s \in {SyncTrained_step(ctl[e.of].sync)} \ {<<>>} :
       Operates([Stepping(e.of, s) EXCEPT ![3] = {x \in @ : ~(x.ev = "Lend" /\ x.term = e.of)}])

RenewAs(e) == GateAlone(e.of, GateRenew_step(node[e.of].gate, node[e.of].gate.term, node[e.of].gate.epoch, Window))

FaultAs(e) == GateAlone(e.of, GateFault_step(node[e.of].gate))

\* A replica that was started anew; the first life of one is there from the beginning.
BornAs(e) ==
  \/ node[e.of] = Born /\ UNCHANGED vars
  \/ Replace /\ node'[e.of] = Born /\ node[e.of] # Born

-----------------------------------------------------------------------------
(* A logged step. *)

LoggedCommand(e) ==
  \/ e.ev = "Seal" /\ Seal
  \/ e.ev = "Drain" /\ Drain
  \/ e.ev = "Lend" /\ Lend
  \/ e.ev = "Returned" /\ Returned
  \/ e.ev = "Renew" /\ RenewAs(e)
  \/ e.ev = "Install" /\ Install
  \/ e.ev = "Reopen" /\ Reopen
  \/ e.ev = "Resume" /\ Resume
  \/ e.ev = "Close" /\ Close
  \/ e.ev = "Poison" /\ Poison
  \/ e.ev = "Claim" /\ Claim

LoggedInside(e) ==
  \/ e.ev = "Admit" /\ Admit
  \/ e.ev = "Settle" /\ Settle
  \/ e.ev = "Orphan" /\ Orphan
  \/ e.ev = "GiveUp" /\ GiveUp
  \/ e.ev = "Frozen" /\ Frozen
  \/ e.ev = "Thawed" /\ Thawed
  \/ e.ev = "Quiesced" /\ Quiesced
  \/ e.ev = "Installed" /\ Installed
  \/ e.ev = "InstallFailed" /\ InstallFailed
  \/ e.ev = "Deadline" /\ Deadline
  \/ e.ev = "Fault" /\ FaultAs(e)

LoggedOperation(e) ==
  \/ e.ev = "Begin" /\ BeginAs(e)
  \/ e.ev = "catch_up" /\ AgainAs(e)
  \/ e.ev = "Sealed" /\ Sealed
  \/ e.ev = "Drained" /\ Drained
  \/ e.ev = "Trained" /\ (Trained \/ TrainedAs(e))
  \/ e.ev = "Installed" /\ Proved
  \/ e.ev = "Declined" /\ Declined
  \/ e.ev = "Recorded" /\ Record
  \/ e.ev = "Closed" /\ Closed
  \/ e.ev = "Drop" /\ Drop
  \/ e.ev = "Overruled" /\ Overruled
  \/ e.ev = "new" /\ Takeover

Logged(e) ==
  \/ e.machine = "Gate" /\ (LoggedCommand(e) \/ LoggedInside(e)) /\ OfGate(e)
  \/ e.machine = "Gate" /\ e.ev = "new" /\ BornAs(e)
  \/ e.machine = "Sync" /\ LoggedOperation(e) /\ OfSync(e)

-----------------------------------------------------------------------------
(* A step that nobody logged, for the sake of e, which is next. *)

\* The engine begins to freeze the one request that e says is frozen.
FreezeFor(e) ==
  /\ e.ev = "Frozen" /\ e.lease \in Slot
  /\ Freeze
  /\ node'[e.of].lease[e.lease].does = "freezes" /\ node[e.of].lease[e.lease].does = "runs"

RestFor(e) == e.ev = "Quiesced" /\ Rest /\ node'[e.of].busy = node[e.of].busy \ {e.rank}

ByMessage == {"Seal", "Drain", "Returned", "Install", "Reopen", "Resume", "Close", "Poison"}

SendFor(e) ==
  /\ e.ev \in ByMessage
  /\ Drive
  /\ \A x \in msgs' \ msgs : x.to = e.of /\ x.ev = e.ev

TrainFor(e) == e.ev \in {"Returned", "Trained"} /\ (Train \/ TrainingEnds)

\* The next of the requests that end with their process.
NextToEnd(r) == CHOOSE s \in Places(r, {"runs", "frozen"}) : \A z \in Places(r, {"runs", "frozen"}) : s <= z

\* What the killed process of replica r did on its own account before its end.
UnloggedBy(r) ==
  \/ Seal \/ Drain \/ Lend \/ Returned \/ Install \/ Reopen \/ Resume \/ Close \/ Claim
  \/ Quiesced \/ Installed \/ Rest \/ Drive
  \/ Settle /\ Places(r, {"runs", "frozen"}) # {} /\ node'[r].lease[NextToEnd(r)].does = "nothing"

LostFor(e) ==
  /\ e.machine = "Sync" /\ e.lost # {}
  /\ \E r \in e.lost :
       /\ UnloggedBy(r)
       /\ \A z \in Replica \ {r} : node'[z] = node[z]
       /\ \A x \in msgs' \ msgs : x.to = r

Unlogged(e) ==
  \/ e.machine = "Gate" /\ (FreezeFor(e) \/ RestFor(e) \/ SendFor(e))
  \/ TrainFor(e)
  \/ LostFor(e)

-----------------------------------------------------------------------------

TraceNext ==
  /\ at < Len(Logs[which])
  /\ which' = which
  /\ \/ Logged(Logs[which][at + 1]) /\ at' = at + 1
     \/ Unlogged(Logs[which][at + 1]) /\ at' = at

\* Says how far each came; never fails.
Reports == at <= TLCGet(which) \/ (TLCSet(which, at) /\ PrintT(<<"explained", which, at>>))

ASSUME \A w \in 1..Len(Logs) : TLCSet(w, 0)

NotReached == which # Wanted \/ at < Reached
=============================================================================
