----------------------------- MODULE Training -----------------------------
(* One run: a trainer that trains, publishes, saves and loads, the run that
   commands it, and the devices that it may share with replicas.

   What is legal, and what changes, is in the generated modules Trainer and
   Gate alone. Written here: what the trainer's process really does, the
   disk, the run's own memory, and who dies.

   Modelled:
   - Weights are the groups that they were trained on, in order. Groups are
     numbered as they are issued, one is a batch, and what is issued and not
     yet trained is in flight.
   - A command is on its way until it acts, for ever if need be; one of an
     earlier term, or the return of an earlier lend, arrives late. The run asks
     for a step, a save or a load when it knows what became of the last one,
     and for a version at any time.
   - A job of the trainer is seen at its beginning and when its result becomes
     durable; whoever dies between leaves nothing, or the whole result.
   - A checkpoint is the trainer's weights and the run's part, as it was when
     the run asked: which groups are in flight, and what comes next. At full
     rest none is in flight, which is the same step.
   - The run dies with its memory, the trainer with its weights. What is lost
     goes on from any complete checkpoint, or from the beginning where there is
     none. Manifests, the register and the next number of a version outlive
     both, and no restore takes them back. A failed trainer may work on until
     its process has ended.
   - jobs, saves, what manifests hold, held and busy are what really happened.
     No table reads them; the properties compare them with what tables say.

   Left out:
   - Seal to drain, and install to close, are each one step, the latter with
     the record of what is published: between them a gate neither admits nor
     lends, so nothing here could tell. One rank and one lease: the table asks
     for all of them alike. What lies between is judged in WeightSync.
   - Commands to another incarnation of trainer or gate, which are refused, and
     repeats of a command, which are answered by operation id without a step.
   - What a group is made of, and by which weights: no rule here reads it.
   - Ranks of the trainer: they step as one machine, and die together. *)
EXTENDS Trainer, Gate, Naturals, Sequences, FiniteSets

CONSTANTS
  Replica,     \* names of replicas, each with one gate of one rank; may be none
  Colocated,   \* TRUE: the trainer works on the replicas' devices
  MaxGroup,    \* how many groups are issued in a run
  MaxVersion,  \* versions are numbered from 0 to this
  MaxSave,     \* how many checkpoints are completed
  MaxCrash,    \* how often the trainer's process ends
  MaxTerm,     \* the run's terms, one for each of its lives
  MaxEpoch,    \* how often a gate is sealed
  MaxLend,     \* how often an incarnation of a replica lends its device
  MaxReplaced  \* how many replicas are replaced

VARIABLES
  trainer,     \* the trainer: its machine, its weights, and the jobs that its process really does
  run,         \* the run's memory
  store,       \* what is on the disk
  node,        \* node[r]: the gate of replica r, and what really happens behind it
  msgs         \* commands to the trainer

vars == <<trainer, run, store, node, msgs>>

Window == 0
Rank == "k1"
Lease == "l1"

NoPart == [next |-> 1, pending |-> {}]

Born == [gate |-> GateInit({Rank}),
         busy |-> FALSE,      \* its device really generates
         held |-> <<>>,       \* the weights that it really holds, if any
         lends |-> 0,         \* how often it lent its device
         back |-> {}]         \* returns that are on their way: by which term, in which epoch, of which lend

Init ==
  /\ trainer = [now |-> TrainerClaim(TrainerInit, 1), weights |-> <<>>, jobs |-> {}]
  /\ run = [term      |-> 1,
            part      |-> NoPart,       \* the groups that are in flight, and the next one
            waits     |-> "nothing",    \* the command whose outcome it awaits
            publishes |-> FALSE,        \* it also awaits that of a Publish
            lost      |-> FALSE]        \* it has to go on from a checkpoint
  /\ store = [next      |-> 0,                                \* the next number of a version
              manifests |-> [v \in 0..MaxVersion |-> <<>>],   \* what each says of its weights, and what it holds
              register  |-> <<>>,                             \* the version that is published
              saves     |-> <<>>,                             \* complete checkpoints
              done      |-> 0,                                \* how many were completed
              twice     |-> FALSE,                            \* a version was written twice
              crashes   |-> 0,
              replaced  |-> 0]
  /\ node = [r \in Replica |-> [Born EXCEPT !.gate = GateClaim(@, 1)]]
  /\ msgs = {}

-----------------------------------------------------------------------------
(* The run: groups, and commands. *)

\* A save carries the run's part of the checkpoint.
Command(name, of) ==
  [ev |-> name, term |-> run.term, of |-> of, part |-> IF name = "Save" THEN run.part ELSE NoPart]

Ready == run.waits = "nothing" /\ trainer.now.term = run.term

Asks(name, of) ==
  /\ run' = [run EXCEPT !.waits = name]
  /\ msgs' = msgs \cup {Command(name, of)}
  /\ UNCHANGED <<trainer, node>>

Issue ==
  /\ ~run.lost /\ run.part.next <= MaxGroup
  /\ run' = [run EXCEPT !.part = [next |-> @.next + 1, pending |-> @.pending \cup {@.next}]]
  /\ UNCHANGED <<trainer, store, node, msgs>>

Lending(r) == <<node[r].gate.term, node[r].gate.epoch, node[r].gate.lent[1]>>

\* Every gate is the run's, has lent its device, and has not been told to take it back.
AllLent ==
  \A r \in Replica :
    /\ node[r].gate.term = run.term /\ node[r].gate.state = "DRAINING" /\ node[r].gate.lent # <<>>
    /\ Lending(r) \notin node[r].back

SendTrain ==
  /\ Ready /\ ~run.lost
  /\ Colocated => AllLent
  /\ \E g \in run.part.pending : Asks("Train", g)
  /\ UNCHANGED store

\* The weights of a version are those that the trainer has when it begins, whatever else is on its way.
SendPublish ==
  /\ trainer.now.term = run.term /\ ~run.lost /\ ~run.publishes
  /\ store.next <= MaxVersion
  /\ run' = [run EXCEPT !.publishes = TRUE]
  /\ msgs' = msgs \cup {Command("Publish", store.next)}
  /\ store' = [store EXCEPT !.next = @ + 1]
  /\ UNCHANGED <<trainer, node>>

SendSave ==
  /\ Ready /\ ~run.lost /\ store.done < MaxSave
  /\ Asks("Save", 0)
  /\ UNCHANGED store

SendLoad ==
  /\ Ready /\ run.lost
  /\ \E n \in 1..Len(store.saves) : Asks("Load", n)
  /\ UNCHANGED store

\* Nothing was ever saved: the run begins again, with a trainer that has trained nothing.
Restart ==
  /\ Ready /\ run.lost /\ store.saves = <<>>
  /\ trainer.weights = <<>> /\ trainer.now.state = "IDLE"
  /\ run' = [run EXCEPT !.lost = FALSE]
  /\ UNCHANGED <<trainer, store, node, msgs>>

\* It takes over whom it will command.
Claim ==
  /\ trainer.now.term < run.term \/ \E r \in Replica : node[r].gate.term < run.term
  /\ trainer' = [trainer EXCEPT !.now = TrainerClaim(@, run.term)]
  /\ node' = [r \in Replica |-> [node[r] EXCEPT !.gate = GateClaim(@, run.term)]]
  /\ UNCHANGED <<run, store, msgs>>

-----------------------------------------------------------------------------
(* The trainer: commands arrive, and jobs come to their end. *)

Step(m) ==
  CASE m.ev = "Train"   -> TrainerTrain_step(trainer.now, m.term, m.of)
    [] m.ev = "Publish" -> TrainerPublish_step(trainer.now, m.term, m.of)
    [] m.ev = "Save"    -> TrainerSave_step(trainer.now, m.term)
    [] m.ev = "Load"    -> TrainerLoad_step(trainer.now, m.term)

\* What is to be written is the weights as they are at its beginning.
Job(m) ==
  [ev |-> m.ev, term |-> m.term, of |-> m.of, part |-> m.part, written |-> FALSE,
   seen |-> IF m.ev \in {"Publish", "Save"} THEN trainer.weights ELSE <<>>]

Starts(m, t) ==
  IF t = <<>> THEN {} ELSE {<<[trainer EXCEPT !.now = t[1], !.jobs = IF t[2] = <<>> THEN @ ELSE @ \cup {Job(m)}], m>>}

Arrive ==
  /\ msgs # {}
  /\ \E t \in UNION {Starts(m, Step(m)) : m \in msgs} : trainer' = t[1] /\ msgs' = msgs \ {t[2]}
  /\ UNCHANGED <<run, store, node>>

Jobs(names) == {j \in trainer.jobs : j.ev \in names}

Without(j, now) == [trainer EXCEPT !.now = now, !.jobs = @ \ {j}]

\* The run asked for this job, and hears of its end.
Asked(j) == run.term = j.term /\ IF j.ev = "Publish" THEN run.publishes ELSE run.waits = j.ev

Heard(j) ==
  IF ~Asked(j) THEN run
  ELSE IF j.ev = "Publish" THEN [run EXCEPT !.publishes = FALSE] ELSE [run EXCEPT !.waits = "nothing"]

Trained ==
  /\ Jobs({"Train"}) # {}
  /\ \E j \in Jobs({"Train"}) :
       /\ trainer' = [Without(j, TrainerTrained(trainer.now, j.of)) EXCEPT !.weights = Append(@, j.of)]
       /\ run' = IF Asked(j) THEN [Heard(j) EXCEPT !.part.pending = @ \ {j.of}] ELSE run
  /\ UNCHANGED <<store, node, msgs>>

\* What is written becomes durable at once: the whole, or nothing of it.
Result(j) ==
  IF j.ev = "Publish"
  THEN [store EXCEPT !.manifests[j.of] = <<[says |-> j.seen, holds |-> trainer.weights]>>,
                     !.twice = @ \/ store.manifests[j.of] # <<>>]
  ELSE [store EXCEPT !.saves = Append(@, [part |-> j.part, weights |-> j.seen, again |-> trainer.weights]),
                     !.done = @ + 1]

Unwritten == {j \in Jobs({"Publish", "Save"}) : ~j.written}

Write ==
  /\ Unwritten # {}
  /\ \E j \in Unwritten :
       /\ store' = Result(j)
       /\ trainer' = [trainer EXCEPT !.jobs = (@ \ {j}) \cup {[j EXCEPT !.written = TRUE]}]
  /\ UNCHANGED <<run, node, msgs>>

Told(j) == IF j.ev = "Publish" THEN TrainerPublished(trainer.now, j.of) ELSE TrainerSaved(trainer.now)

Written ==
  /\ \E j \in Jobs({"Publish", "Save"}) : j.written
  /\ \E j \in {k \in Jobs({"Publish", "Save"}) : k.written} :
       trainer' = Without(j, Told(j)) /\ run' = Heard(j)
  /\ UNCHANGED <<store, node, msgs>>

Loaded ==
  /\ Jobs({"Load"}) # {}
  /\ \E j \in Jobs({"Load"}) :
       /\ trainer' = [Without(j, TrainerLoaded(trainer.now)) EXCEPT !.weights = store.saves[j.of].weights]
       /\ run' = IF Asked(j) THEN [Heard(j) EXCEPT !.part = store.saves[j.of].part, !.lost = FALSE] ELSE run
  /\ UNCHANGED <<store, node, msgs>>

Undone ==
  /\ \E j \in Jobs({"Save", "Load"}) : ~j.written
  /\ \E j \in {k \in Jobs({"Save", "Load"}) : ~k.written} :
       trainer' = Without(j, TrainerUndone(trainer.now)) /\ run' = Heard(j)
  /\ UNCHANGED <<store, node, msgs>>

Lost == [run EXCEPT !.part = NoPart, !.waits = "nothing", !.publishes = FALSE, !.lost = TRUE]

Failed ==
  /\ trainer.jobs # {} /\ trainer.now.state \in TrainerFailed_states
  /\ trainer' = [trainer EXCEPT !.now = TrainerFailed(@)]
  /\ run' = Lost
  /\ UNCHANGED <<store, node, msgs>>

\* Its process ends, and another begins, claimed by nobody. What was on its way to it is refused by the other.
TrainerDies ==
  /\ store.crashes < MaxCrash
  /\ trainer' = [now |-> TrainerInit, weights |-> <<>>, jobs |-> {}]
  /\ run' = Lost
  /\ store' = [store EXCEPT !.crashes = @ + 1]
  /\ msgs' = {}
  /\ UNCHANGED node

RunDies ==
  /\ run.term < MaxTerm
  /\ run' = [Lost EXCEPT !.term = @ + 1]
  /\ UNCHANGED <<trainer, store, node, msgs>>

-----------------------------------------------------------------------------
(* Replicas. *)

\* The run knows that the trainer does not use their devices: it is claimed and does not train, or has just begun.
AtRest ==
  /\ run.waits # "Train"
  /\ trainer.now.term \in {0, run.term}
  /\ trainer.now.state \notin {"TRAINING", "FAILED"}

Becomes(r, n) == node' = [node EXCEPT ![r] = n] /\ UNCHANGED <<trainer, run, store, msgs>>

\* Those where the gate moves, with what they become.
Moved(r, g) == IF g = node[r].gate THEN {} ELSE {<<r, [node[r] EXCEPT !.gate = g]>>}

\* A gate that has reopened is closed: it is open.
Home(g) == IF g.state = "REOPENED" THEN GateClose(g, run.term, g.epoch) ELSE g

SealDrain ==
  /\ \E r \in Replica : node[r].gate.epoch < MaxEpoch
  /\ \E t \in UNION {Moved(r, GateDrain(GateSeal(node[r].gate, run.term, node[r].gate.epoch + 1, "wait", Window),
                                         run.term, node[r].gate.epoch + 1)) :
                     r \in {x \in Replica : node[x].gate.epoch < MaxEpoch}} : Becomes(t[1], t[2])

Resume ==
  /\ \E r \in Replica : node[r].gate.state \in {"SEALED", "DRAINING"}
  /\ \E t \in UNION {Moved(r, Home(GateResume(node[r].gate, run.term, node[r].gate.epoch))) :
                     r \in {x \in Replica : node[x].gate.state \in {"SEALED", "DRAINING"}}} : Becomes(t[1], t[2])

Deadline ==
  /\ \E r \in Replica : node[r].gate.state \in GateDeadline_states
  /\ \E t \in UNION {Moved(r, Home(GateDeadline(node[r].gate, node[r].gate.epoch, node[r].gate.timer))) : r \in Replica} :
       Becomes(t[1], t[2])

Admit ==
  /\ \E r \in Replica : node[r].gate.state \in GateAdmit_states
  /\ \E t \in UNION {Moved(r, GateAdmit(node[r].gate, Lease, <<>>)) : r \in Replica} :
       Becomes(t[1], [t[2] EXCEPT !.busy = TRUE])

Settle ==
  /\ \E r \in Replica : node[r].gate.active # {}
  /\ \E t \in UNION {Moved(r, GateSettle(node[r].gate, Lease)) : r \in Replica} : Becomes(t[1], t[2])

\* The last pass is over.
Rest ==
  /\ \E r \in Replica : node[r].busy /\ node[r].gate.active = {}
  /\ \E r \in {x \in Replica : node[x].busy /\ node[x].gate.active = {}} : Becomes(r, [node[r] EXCEPT !.busy = FALSE])

Quiesced ==
  /\ \E r \in Replica : node[r].gate.state = "DRAINING" /\ ~node[r].busy
  /\ \E t \in UNION {Moved(r, GateQuiesced(node[r].gate, node[r].gate.epoch, Rank)) : r \in {x \in Replica : ~node[x].busy}} :
       Becomes(t[1], t[2])

Fault ==
  /\ \E r \in Replica : node[r].gate.state # "POISONED"
  /\ \E t \in UNION {Moved(r, GateFault(node[r].gate)) : r \in Replica} : Becomes(t[1], t[2])

Lend ==
  /\ Colocated
  /\ \E r \in Replica : node[r].gate.state = "DRAINING" /\ node[r].lends < MaxLend
  /\ \E t \in UNION {Moved(r, GateLend(node[r].gate, run.term, node[r].gate.epoch, node[r].lends + 1)) :
                     r \in {x \in Replica : node[x].lends < MaxLend}} : Becomes(t[1], [t[2] EXCEPT !.lends = @ + 1])

SendReturned ==
  /\ AtRest
  /\ \E r \in {x \in Replica : node[x].gate.lent # <<>>} :
       /\ node[r].gate.term = run.term
       /\ Lending(r) \notin node[r].back
       /\ Becomes(r, [node[r] EXCEPT !.back = @ \cup {Lending(r)}])

Returned ==
  /\ \E r \in Replica : node[r].back # {}
  /\ \E t \in UNION {UNION {Moved(r, GateReturned(node[r].gate, b[1], b[2], b[3])) : b \in node[r].back} : r \in Replica} :
       Becomes(t[1], t[2])

\* Versions whose bytes are durable, and that are not below the published one.
Durable == {v \in 0..MaxVersion : store.manifests[v] # <<>> /\ (store.register # <<>> => store.register[1] <= v)}

Digests(v) == [k \in {Rank} |-> v]

\* Install, the proof of it, published = v, reopen, close.
Swapped(g, v) ==
  LET begun == GateInstall(g, run.term, g.epoch, v, Digests(v))
      proved == GateInstalled(begun, g.epoch, Rank, v)
  IN IF begun = g THEN g ELSE Home(GateReopen(proved, run.term, g.epoch))

Swap ==
  /\ \E r \in Replica : node[r].gate.state = "DRAINING"
  /\ Durable # {}
  /\ \E t \in UNION {UNION {{<<m[1], [m[2] EXCEPT !.held = <<store.manifests[v][1].holds>>], v>> :
                               m \in Moved(r, Swapped(node[r].gate, v))} : v \in Durable} :
                     r \in {x \in Replica : node[x].gate.state = "DRAINING"}} :
       /\ node' = [node EXCEPT ![t[1]] = t[2]]
       /\ store' = [store EXCEPT !.register = <<t[3]>>]
  /\ UNCHANGED <<trainer, run, msgs>>

\* A replica's process has ended, and another begins on its device, which nobody else uses.
Replace ==
  /\ store.replaced < MaxReplaced
  /\ Colocated => AtRest
  /\ \E r \in Replica : node' = [node EXCEPT ![r] = Born]
  /\ store' = [store EXCEPT !.replaced = @ + 1]
  /\ UNCHANGED <<trainer, run, msgs>>

-----------------------------------------------------------------------------

Next ==
  \/ Issue \/ SendTrain \/ SendPublish \/ SendSave \/ SendLoad \/ Restart \/ Claim
  \/ Arrive \/ Trained \/ Write \/ Written \/ Loaded \/ Undone \/ Failed \/ TrainerDies \/ RunDies
  \/ SealDrain \/ Resume \/ Deadline \/ Admit \/ Settle \/ Rest \/ Quiesced \/ Fault
  \/ Lend \/ SendReturned \/ Returned \/ Swap \/ Replace

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties, by the names of the contract. *)

\* The trainer does one thing at a time: training and publishing never overlap.
T1 == Cardinality(trainer.jobs) <= 1

\* Nothing is generated on a device that is lent, or that the trainer trains on, whatever a gate says.
T2 == \A r \in Replica : node[r].busy => (node[r].gate.lent = <<>> /\ ~(Colocated /\ Jobs({"Train"}) # {}))

Elements(s) == {s[i] : i \in 1..Len(s)}

\* Every group that was issued was trained on once or is in flight.
Accounted(part, weights) ==
  /\ Len(weights) = Cardinality(Elements(weights))
  /\ Elements(weights) \cap part.pending = {}
  /\ Elements(weights) \cup part.pending = 1..(part.next - 1)

\* A checkpoint is whole, and restores to a state that the run could have been in; so is what goes on from it.
T3 ==
  /\ \A n \in 1..Len(store.saves) :
       /\ store.saves[n].again = store.saves[n].weights
       /\ Accounted(store.saves[n].part, store.saves[n].weights)
  /\ run.lost \/ Accounted(run.part, trainer.weights)
  /\ Len(store.saves) = store.done

\* A version's number is used once, and its manifest says what was trained into the weights that it holds.
Versions ==
  /\ ~store.twice
  /\ \A v \in 0..MaxVersion : store.manifests[v] # <<>> => store.manifests[v][1].says = store.manifests[v][1].holds

\* An open gate holds the weights of its version, which is published: nothing opens before the first is.
Serves == \A r \in Replica : node[r].gate.state = "OPEN" =>
  /\ node[r].gate.version # <<>> /\ store.register # <<>>
  /\ node[r].gate.version[1] <= store.register[1]
  /\ node[r].held = <<store.manifests[node[r].gate.version[1]][1].holds>>

(* States that must be reached: each is checked as if it could not be. *)

Shorter(v, w) == Len(store.manifests[w][1].says) < Len(store.manifests[v][1].says)

\* A newer version holds weights that were restored from before those of an older one; and it serves.
NeverResumes == ~(store.manifests[0] # <<>> /\ store.manifests[1] # <<>> /\ Shorter(0, 1))
NeverServesResumed == NeverResumes \/ \A r \in Replica : ~(node[r].gate.state = "OPEN" /\ node[r].gate.version = <<1>>)
NeverSavesInFlight == \A n \in 1..Len(store.saves) : ~(store.saves[n].part.pending # {} /\ store.saves[n].weights # <<>>)
NeverPoisonedLent == \A r \in Replica : ~(node[r].gate.state = "POISONED" /\ node[r].gate.lent # <<>> /\ Jobs({"Train"}) # {})
=============================================================================
