------------------------------- MODULE Runs --------------------------------
(* A whole run: what it does next, its groups of samples, its trainer, its
   checkpoints, and the devices that trainer and replicas may share.

   What is legal, and what changes, is in the generated modules Run and
   Production alone. Written here: what is really done when the run asks for
   it, what it comes to when a process dies in the middle, and the disk.

   Training has what this leaves out: the ranks of the trainer, commands that
   are late, gates that are poisoned, and weights that are not what they
   should be. There a job of the trainer is done by all, undone, or the end of
   it, and a device is lent or not; that is all that is here of either. Here
   is what Training leaves out: which groups go into a step, when one is
   claimed, given back or begun again, and in which order a run goes on.

   Modelled:
   - Weights are the set of groups that they were trained on.
   - What the run asks for is done, and only then answered: in between the
     trainer, or all of the run, may die. What was not done is asked again;
     so is a publication that was done, under another number.
   - Groups begin, complete and fail at any time. On devices that are lent
     nothing completes. One that is ready may be dropped for good.
   - A checkpoint has the run's part as it was when it was asked for, and is
     durable later; production goes on meanwhile. Whoever goes back takes any
     checkpoint: later ones were damaged, and are gone for good.
   - A trainer that is lost, and a run that dies, go back to a checkpoint, or
     to the beginning where there is none. Of a run that dies nothing is left
     but the disk.
   - twice, works and gone are what really happened. No table reads them.

   - A run may be ended, and may fail, at any time; what it has begun is closed
     then. Production may be stopped at any time, for whoever waits for rest.

   Left out:
   - Runs of which only one stage is done: without a trainer, or without
     replicas, nothing goes from one step to the next.
   - Turns of agents: a group in flight is all that is here of them. *)
EXTENDS Run, Production, Naturals, Sequences, FiniteSets

CONSTANTS
  Colocated,   \* TRUE: the trainer works on the replicas' devices
  Goal,        \* how many updates are made
  SaveEvery,
  SyncEvery,
  Batch,       \* how many groups a step takes
  MaxGroup,    \* how many groups are begun in a run
  MaxVersion,  \* versions are numbered from 0 to this
  MaxFail,     \* how many groups come to nothing
  MaxDrop,     \* how many groups are dropped
  MaxUnsaved,  \* how many checkpoints cannot be saved
  MaxCrash,    \* how often the trainer dies
  MaxDeath,    \* how often all of the run dies
  MayRest,     \* TRUE: production is stopped and started at any time
  MayStop      \* TRUE: the run is ended, or fails, at any time

VARIABLES
  run,         \* the run's machine
  prod,        \* its groups
  does,        \* what became of what it asks for: it is asked, works, or is done, and with what it is answered
  trainer,     \* its weights, and whether it really trains
  device,      \* what the gates of the replicas say: closed, open or lent; and the version that they hold
  disk,        \* checkpoints, manifests, the next number of a version
  happened     \* what happened how often; groups that are dropped for good, in the line of the run's weights

vars == <<run, prod, does, trainer, device, disk, happened>>

Groups == 0..(MaxGroup - 1)

NoSave == [update |-> 0, weights |-> {}, next |-> 0, again |-> {}, gone |-> {}]
Asked == [at |-> "asked", version |-> 0, save |-> NoSave]

Newborn == RunInit(Colocated, "whole", <<Goal>>, SaveEvery, SyncEvery)

Init ==
  /\ run = Newborn
  /\ prod = ProductionInit
  /\ does = Asked
  /\ trainer = [weights |-> {}, works |-> FALSE]
  /\ device = [gate |-> "closed", version |-> 0]
  /\ disk = [saves |-> <<>>, manifests |-> [v \in 0..MaxVersion |-> <<>>], next |-> 0]
  /\ happened = [gone |-> {}, twice |-> FALSE, stopped |-> FALSE, fails |-> 0, drops |-> 0, unsaved |-> 0,
                 crashes |-> 0, deaths |-> 0]

-----------------------------------------------------------------------------
(* Beginnings. *)

\* The checkpoint to go back to: any, or the beginning where there is none.
Choices == IF disk.saves = <<>> THEN {0} ELSE 1..Len(disk.saves)
At(n) == IF n = 0 THEN NoSave ELSE disk.saves[n]

\* The weights are durable under a new number, and later checkpoints are no more.
Numbered(weights, n) ==
  [disk EXCEPT !.saves = SubSeq(@, 1, n), !.manifests[disk.next] = <<weights>>, !.next = @ + 1]

\* All processes begin: with the weights that the disk has.
Start ==
  /\ run.state = "STARTING" /\ disk.next <= MaxVersion
  /\ \E n \in Choices :
       /\ trainer' = [weights |-> At(n).weights, works |-> FALSE]
       /\ disk' = Numbered(At(n).weights, n)
       /\ prod' = ProductionStart(ProductionRestore(prod, At(n).next, At(n).again))
       /\ run' = RunStarted(run, At(n).update, disk.next)
       /\ happened' = [happened EXCEPT !.gone = At(n).gone]
  /\ device' = [gate |-> "open", version |-> disk.next]
  /\ does' = Asked

RunDies ==
  /\ happened.deaths < MaxDeath /\ run.state # "STARTING"
  /\ run' = Newborn /\ prod' = ProductionInit /\ does' = Asked
  /\ trainer' = [weights |-> {}, works |-> FALSE]
  /\ device' = [gate |-> "closed", version |-> 0]
  /\ happened' = [happened EXCEPT !.deaths = @ + 1, !.gone = {}]
  /\ UNCHANGED disk

-----------------------------------------------------------------------------
(* Groups. *)

Alive == run.state \notin {"STARTING", "ENDING", "ENDED", "FAILED"}

Produces(next) == prod' = next /\ UNCHANGED <<run, does, trainer, device, disk>>

GroupBegins ==
  /\ Alive
  /\ \E g \in {x \in Groups : ProductionBegin_acts(prod, x)} : Produces(ProductionBegin(prod, g))
  /\ UNCHANGED happened

GroupCompletes ==
  /\ Alive /\ device.gate = "open"
  /\ \E g \in prod.in_flight : Produces(ProductionCompleted(prod, g))
  /\ UNCHANGED happened

GroupFails ==
  /\ Alive /\ happened.fails < MaxFail
  /\ \E g \in prod.in_flight : Produces(ProductionFailed(prod, g))
  /\ happened' = [happened EXCEPT !.fails = @ + 1]

\* It is too old for what is trained now.
GroupDropped ==
  /\ Alive /\ happened.drops < MaxDrop
  /\ \E g \in prod.ready :
       /\ Produces(ProductionDropped(prod, g))
       /\ happened' = [happened EXCEPT !.drops = @ + 1, !.gone = @ \cup {g}]

\* The lowest that are ready, one by one.
Claim ==
  /\ run.state = "PRODUCING" /\ Cardinality(prod.claimed) < Batch
  /\ \E g \in prod.ready : (\A o \in prod.ready : g <= o) /\ Produces(ProductionClaim(prod, g))
  /\ UNCHANGED happened

Rest ==
  /\ MayRest /\ Alive
  /\ Produces(IF prod.state = "RUNNING" THEN ProductionStop(prod) ELSE ProductionStart(prod))
  /\ UNCHANGED happened

\* The step is put off: what it has is ready again.
GiveBack ==
  /\ run.state = "PRODUCING" /\ prod.claimed # {}
  /\ Produces(ProductionGiveBack(prod))
  /\ UNCHANGED happened

-----------------------------------------------------------------------------
(* What the run asks for is done. *)

Does(next) == does' = next /\ UNCHANGED <<run, prod, happened>>

LendDone ==
  /\ run.state = "LENDING" /\ does.at = "asked"
  /\ Does([does EXCEPT !.at = "done"])
  /\ device' = [device EXCEPT !.gate = "lent"]
  /\ UNCHANGED <<trainer, disk>>

TrainBegins ==
  /\ run.state = "TRAINING" /\ does.at = "asked"
  /\ Does([does EXCEPT !.at = "works"])
  /\ trainer' = [trainer EXCEPT !.works = TRUE]
  /\ UNCHANGED <<device, disk>>

TrainDone ==
  /\ run.state = "TRAINING" /\ does.at = "works"
  /\ does' = [does EXCEPT !.at = "done"]
  /\ trainer' = [weights |-> trainer.weights \cup prod.claimed, works |-> FALSE]
  /\ happened' = [happened EXCEPT !.twice = @ \/ (trainer.weights \cap prod.claimed # {})]
  /\ UNCHANGED <<run, prod, device, disk>>

PublishDone ==
  /\ run.state = "PUBLISHING" /\ does.at = "asked" /\ disk.next <= MaxVersion
  /\ Does([does EXCEPT !.at = "done", !.version = disk.next])
  /\ disk' = Numbered(trainer.weights, Len(disk.saves))
  /\ UNCHANGED <<trainer, device>>

\* Its answer was lost, and it is asked for again.
PublishAgain ==
  /\ run.state = "PUBLISHING" /\ does.at = "done"
  /\ Does(Asked)
  /\ UNCHANGED <<trainer, device, disk>>

\* What is lent is returned; every gate installs and opens.
SyncDone ==
  /\ run.state = "SYNCING" /\ does.at = "asked"
  /\ Does([does EXCEPT !.at = "done"])
  /\ device' = [gate |-> "open", version |-> run.version[1]]
  /\ UNCHANGED <<trainer, disk>>

\* The groups that a run which goes back to this has to begin again.
InFlight == prod.again \cup prod.in_flight \cup prod.ready \cup prod.claimed

SaveBegins ==
  /\ run.state = "SAVING" /\ does.at = "asked"
  /\ Does([does EXCEPT !.at = "works",
                       !.save = [update |-> run.update, weights |-> trainer.weights, next |-> prod.next_group,
                                 again |-> InFlight, gone |-> happened.gone]])
  /\ UNCHANGED <<trainer, device, disk>>

SaveDone ==
  /\ run.state = "SAVING" /\ does.at = "works"
  /\ Does([Asked EXCEPT !.at = "done"])
  /\ disk' = [disk EXCEPT !.saves = Append(@, does.save)]
  /\ UNCHANGED <<trainer, device>>

\* What the trainer's weights lack then: it is begun again, but for what runs.
Lacking(save) == save.again \cup {g \in Groups : save.next <= g /\ g < prod.next_group}

RestoreDone ==
  /\ run.state = "RESTORING" /\ does.at = "asked" /\ disk.next <= MaxVersion
  /\ \E n \in Choices :
       /\ trainer' = [weights |-> At(n).weights, works |-> FALSE]
       /\ disk' = Numbered(At(n).weights, n)
       /\ prod' = ProductionRewind(prod, Lacking(At(n)))
       /\ happened' = [happened EXCEPT !.gone = At(n).gone]
       /\ does' = [at |-> "done", version |-> disk.next, save |-> [NoSave EXCEPT !.update = At(n).update]]
  /\ UNCHANGED <<run, device>>

-----------------------------------------------------------------------------
(* The run hears of it. *)

Hears(next) == run' = next /\ does' = Asked /\ UNCHANGED <<device, disk>>

Gathered ==
  /\ run.state = "PRODUCING" /\ Cardinality(prod.claimed) = Batch
  /\ Hears(RunGathered(run))
  /\ UNCHANGED <<prod, trainer, happened>>

Lent ==
  /\ run.state = "LENDING" /\ does.at = "done"
  /\ Hears(RunLent(run))
  /\ UNCHANGED <<prod, trainer, happened>>

Trained ==
  /\ run.state = "TRAINING" /\ does.at = "done"
  /\ Hears(RunTrained(run))
  /\ prod' = ProductionTrained(prod)
  /\ UNCHANGED <<trainer, happened>>

Published ==
  /\ run.state = "PUBLISHING" /\ does.at = "done"
  /\ Hears(RunPublished(run, does.version))
  /\ UNCHANGED <<prod, trainer, happened>>

Synced ==
  /\ run.state = "SYNCING" /\ does.at = "done"
  /\ Hears(RunSynced(run, device.version))
  /\ UNCHANGED <<prod, trainer, happened>>

Saved ==
  /\ run.state = "SAVING" /\ does.at = "done"
  /\ Hears(RunSaved(run))
  /\ UNCHANGED <<prod, trainer, happened>>

NotSaved ==
  /\ run.state = "SAVING" /\ does.at # "done" /\ happened.unsaved < MaxUnsaved
  /\ Hears(RunNotSaved(run))
  /\ happened' = [happened EXCEPT !.unsaved = @ + 1]
  /\ UNCHANGED <<prod, trainer>>

\* It could not be done, and is asked for again: of the same groups.
Undone ==
  /\ Alive /\ does.at # "done"
  /\ Hears(RunUndone(run))
  /\ trainer' = [trainer EXCEPT !.works = FALSE]
  /\ UNCHANGED <<prod, happened>>

Restored ==
  /\ run.state = "RESTORING" /\ does.at = "done"
  /\ Hears(RunRestored(run, does.save.update, does.version))
  /\ UNCHANGED <<prod, trainer, happened>>

\* Its process has ended, whatever it did.
TrainerDies ==
  /\ Alive /\ happened.crashes < MaxCrash
  /\ Hears(RunTrainerLost(run))
  /\ trainer' = [weights |-> {}, works |-> FALSE]
  /\ happened' = [happened EXCEPT !.crashes = @ + 1]
  /\ UNCHANGED prod

-----------------------------------------------------------------------------
(* Endings. *)

Stopped(next) ==
  /\ run' = next
  /\ happened' = [happened EXCEPT !.stopped = TRUE]
  /\ UNCHANGED <<prod, does, trainer, device, disk>>

Stop ==
  /\ MayStop /\ run.state \notin {"ENDING", "ENDED", "FAILED"}
  /\ Stopped(RunStop(run))

Failed ==
  /\ MayStop /\ run.state \notin {"ENDED", "FAILED"}
  /\ Stopped(RunFailed(run))

\* Every process has ended.
Ended ==
  /\ run.state \in {"ENDING", "FAILED"} /\ prod.state # "CLOSED"
  /\ run' = RunEnded(run) /\ prod' = ProductionClose(prod) /\ does' = Asked
  /\ trainer' = [weights |-> {}, works |-> FALSE]
  /\ device' = [device EXCEPT !.gate = "closed"]
  /\ UNCHANGED <<disk, happened>>

-----------------------------------------------------------------------------

Next ==
  \/ Start \/ RunDies
  \/ GroupBegins \/ GroupCompletes \/ GroupFails \/ GroupDropped \/ Claim \/ Rest \/ GiveBack
  \/ LendDone \/ TrainBegins \/ TrainDone \/ PublishDone \/ PublishAgain \/ SyncDone \/ SaveBegins \/ SaveDone
  \/ RestoreDone
  \/ Gathered \/ Lent \/ Trained \/ Published \/ Synced \/ Saved \/ NotSaved \/ Undone \/ Restored \/ TrainerDies
  \/ Stop \/ Failed \/ Ended

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties. *)

Below(n) == {g \in Groups : g < n}

\* Of the groups that were begun none is lost, and none is there twice.
Whole(weights, held, gone, next) ==
  /\ weights \cup held \cup gone = Below(next)
  /\ weights \cap held = {} /\ weights \cap gone = {} /\ held \cap gone = {}

\* While a step is done, and not answered, its groups are in the weights and claimed.
InDoubt == run.state = "TRAINING" /\ does.at = "done"

\* The trainer has the weights that the run believes in, and what is begun is trained on once, dropped, or there.
Stands == Alive /\ run.state # "RESTORING" /\ ~InDoubt
GroupsOnce ==
  /\ ~happened.twice
  /\ Stands => Whole(trainer.weights, InFlight, happened.gone, prod.next_group)
  /\ InDoubt => Whole(trainer.weights, InFlight \ prod.claimed, happened.gone, prod.next_group)

\* A checkpoint is of one step, and restores to a state that the run could have been in.
Checkpoints == \A n \in 1..Len(disk.saves) :
  /\ Cardinality(disk.saves[n].weights) = Batch * disk.saves[n].update
  /\ Whole(disk.saves[n].weights, disk.saves[n].again, disk.saves[n].gone, disk.saves[n].next)

\* So is what goes on from it: each step took its groups.
Steps ==
  /\ run.state \in {"PRODUCING", "LENDING"} => Cardinality(trainer.weights) = Batch * (run.update - 1)
  /\ run.state \in {"PUBLISHING", "SYNCING", "SAVING"} => Cardinality(trainer.weights) = Batch * run.update
  /\ run.state \in {"LENDING", "TRAINING"} => Cardinality(prod.claimed) = Batch
  /\ run.state \in {"STARTING", "PUBLISHING", "SYNCING", "SAVING"} => prod.claimed = {}

\* A device that both may use is never used by both: the trainer trains on what is lent, and what is lent is returned.
Devices ==
  /\ (Colocated /\ trainer.works) => device.gate = "lent"
  /\ device.gate = "lent" => (Colocated /\ run.state # "PRODUCING" /\ run.state # "SAVING")

\* Open gates hold the run's version, which is durable, and its weights are those of a step of this run.
Serves ==
  /\ device.gate = "open" => disk.manifests[device.version] # <<>>
  /\ run.state \in {"PRODUCING", "LENDING", "SAVING"} => run.version = <<device.version>>
  /\ run.version # <<>> => run.version[1] < disk.next

\* Weights that are served are no older than the run wants them to be.
Fresh ==
  /\ run.state = "PRODUCING" =>
       LET served == disk.manifests[device.version][1]
       IN /\ served \subseteq trainer.weights
          /\ Cardinality(trainer.weights \ served) < Batch * (IF SyncEvery = 0 THEN 1 ELSE SyncEvery)
  /\ (run.state = "ENDING" /\ ~happened.stopped) => disk.manifests[device.version] = <<trainer.weights>>

\* The run saves as often as it was told to, where it can.
Saves ==
  /\ (run.state = "PRODUCING" /\ SaveEvery # 0 /\ happened.unsaved = 0) => run.update <= run.kept + SaveEvery
  /\ (run.state = "ENDING" /\ ~happened.stopped /\ SaveEvery # 0 /\ happened.unsaved = 0) =>
       disk.saves[Len(disk.saves)].update = Goal
  /\ run.state = "PRODUCING" => (run.kept = 0 \/ \E n \in 1..Len(disk.saves) : disk.saves[n].update = run.kept)
  /\ SaveEvery = 0 => disk.saves = <<>>

(* States that must be reached: each is checked as if it could not be. *)

NeverEnds == ~(run.state = "ENDED" /\ ~happened.stopped /\ happened.crashes = MaxCrash /\ happened.deaths = MaxDeath)
NeverSavesInFlight == \A n \in 1..Len(disk.saves) : disk.saves[n].again = {}
NeverBeginsAgain ==
  \A v \in 0..MaxVersion : disk.manifests[v] = <<>> \/ disk.manifests[v][1] \cap prod.again = {}
NeverLostLent == ~(run.state = "RESTORING" /\ device.gate = "lent")
=============================================================================
