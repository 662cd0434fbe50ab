---------------------------- MODULE WeightSync ----------------------------
(* Weights are swapped under live requests, whatever fails: replicas,
   controllers that come and go, a trainer that borrows devices, and the
   network between them.

   What is legal, and what changes, is in the generated modules Gate and Sync
   alone; Replicas and Controllers say what happens around them, System what
   there is. Here: what can happen next, what must come of it, and states that
   must be reached. Which faults a configuration has is said by Faults. *)
EXTENDS Controllers

Next ==
  \/ Seal \/ Drain \/ Install \/ Reopen \/ Resume \/ Close
  \/ Lend \/ Returned \/ Renew \/ Poison
  \/ Deadline
  \/ Admit \/ Settle \/ Orphan \/ GiveUp \/ Freeze \/ Frozen \/ Thawed
  \/ Rest \/ Quiesced \/ Installed \/ InstallFailed
  \/ TrainingEnds \/ TrainerCrash \/ Store
  \/ Replace
  \/ Begin \/ Sealed \/ Drained \/ Proved \/ Declined \/ Record \/ Closed \/ Drop
  \/ Train \/ Trained
  \/ Drive \/ Again \/ Raise \/ Settled
  \/ Takeover \/ Overruled \/ Claim

Spec == Init /\ [][Next]_vars

\* In the end every timer runs out.
TimerOf(r) == r \in Armed /\ \E p \in ByDeadline(r) : Becomes(After(r, p, {}))
FairSpec == Spec /\ \A r \in Replica : WF_vars(TimerOf(r))

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

\* Epoch, term and published never fall, a version only rises.
G5 == "G5" \notin wrong

\* Poison is for ever, and admits nothing; so is every closed gate, as long as it is closed.
G6 == "G6" \notin wrong /\ "admission" \notin wrong

\* The controller that rules, at rest, has every live gate of its own open at what is published, and nothing
\* on its way closes one.
G7 == (ctl[Ruler].sync.state = "IDLE" /\ ctl[Ruler].settled) =>
        \A r \in Claimed(Ruler) :
          /\ node[r].gate.state = "OPEN" /\ node[r].gate.version = durable.published
          /\ \A mes \in Sent("Seal") : mes.to = r =>
               ~GateSeal_acts(node[r].gate, mes.term, mes.epoch, Mode, Window)

\* No drain before every member has acknowledged the seal; what its own deadline reopened refuses install.
G9 == /\ \A mes \in Sent("Drain") :
           (mes.epoch = ctl[mes.term].sync.epoch
            /\ ctl[mes.term].sync.state \notin {"IDLE", "ROLLING_BACK", "FAILED"}) =>
           \A r \in ctl[mes.term].sync.members : node[r].gate.epoch >= mes.epoch
      /\ \A r \in Replica : node[r].gate.state = "INSTALLING" => ~node[r].expired

Closing(r) == node[r].gate.state \in {"SEALED", "DRAINING", "INSTALLING"}

\* Every seal of a gate with weights ends reopened or poisoned.
L1 == \A r \in Replica : Closing(r) ~> ~Closing(r)

(* States that must be reached: each is checked as if it could not be. *)
NeverReopensNew == \A r \in Replica : ~(node[r].gate.state = "REOPENED" /\ node[r].gate.version = <<1>>)
NeverPoisoned   == \A r \in Replica : Live(r)
NeverRollsBack  == \A t \in DOMAIN ctl : ctl[t].sync.state # "ROLLING_BACK"
NeverSuspends   == \A r \in Replica : node[r].gate.suspended = {}
NeverPublishes  == durable.published = <<0>>
NeverCatchesUp  == \A t \in DOMAIN ctl : ctl[t].epoch <= ctl[t].sync.epoch
NeverOrphans    == \A r \in Replica : node[r].gate.orphaned = {}
NeverExpires    == \A r \in Replica : ~node[r].expired
=============================================================================
