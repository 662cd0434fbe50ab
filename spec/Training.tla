----------------------------- MODULE Training -----------------------------
(* One run: a trainer of several ranks that trains, publishes, saves and loads,
   the run that commands it, and the devices that it may share with replicas.

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
   - A job is every rank's. The ranks agree before any of them works: where one
     does not, none does. Each rank's part is seen when it is done; what is
     written becomes whole once all parts are there, and of a version once they
     are alike. Ranks end a job one after another, each by an answer of its own.
   - A rank dies or fails alone. The others may go on with what was agreed until
     the process of the whole group has ended, and it ends with the head.
     Weights of one rank may differ from the others' without anybody's notice.
   - A checkpoint is the trainer's weights and the run's part, as it was when
     the run asked: which groups are in flight, and what comes next. At full
     rest none is in flight, which is the same step.
   - The run dies with its memory, the trainer with its weights. What is lost
     goes on from any complete checkpoint, or from the beginning where there is
     none. Manifests, the register and the next number of a version outlive
     both, and no restore takes them back. A failed trainer may work on until
     its processes have ended.
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
   - Answers of a job that is over: what comes of them is judged in TrainerSteps. *)
EXTENDS Trainer, Gate, Naturals, Sequences, FiniteSets

CONSTANTS
  Member,      \* ranks of the trainer
  First,        \* the one of them that writes, and keeps the trainer's table
  Replica,     \* names of replicas, each with one gate of one rank; may be none
  Colocated,   \* TRUE: the trainer works on the replicas' devices
  MaxGroup,    \* how many groups are issued in a run
  MaxVersion,  \* versions are numbered from 0 to this
  MaxSave,     \* how many checkpoints are completed
  MaxJob,      \* how many jobs one life of the trainer begins
  MaxCrash,    \* how often the trainer, or one rank of it, dies
  MaxDrift,    \* how often the weights of one rank become others than they should
  MaxTerm,     \* the run's terms, one for each of its lives
  MaxEpoch,    \* how often a gate is sealed
  MaxLend,     \* how often an incarnation of a replica lends its device
  MaxReplaced  \* how many replicas are replaced

VARIABLES
  trainer,     \* the trainer: its machine, its ranks' weights, the jobs that they really do, and ranks that are gone
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

Fresh == [now |-> TrainerInit(Member), weights |-> [k \in Member |-> <<>>], jobs |-> {}, gone |-> {}]

Init ==
  /\ trainer = [Fresh EXCEPT !.now = TrainerClaim(@, 1)]
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
              drifts    |-> 0,
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
  /\ trainer.weights = Fresh.weights /\ trainer.now.state = "IDLE"
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
Writes == {"Publish", "Save"}

Job(m, k) ==
  [ev |-> m.ev, rank |-> k, term |-> m.term, of |-> m.of, part |-> m.part, at |-> "told",
   seen |-> IF m.ev \in Writes THEN trainer.weights[k] ELSE <<>>, drawn |-> <<>>]

Begun(m, now) == [trainer EXCEPT !.now = now, !.jobs = @ \cup {Job(m, k) : k \in Member \ trainer.gone}]

Starts(m, t) ==
  IF t = <<>> \/ trainer.now.job = MaxJob THEN {}
  ELSE {<<IF t[2] = <<>> THEN [trainer EXCEPT !.now = t[1]] ELSE Begun(m, t[1]), m>>}

Arrive ==
  /\ msgs # {}
  /\ \E t \in UNION {Starts(m, Step(m)) : m \in msgs} : trainer' = t[1] /\ msgs' = msgs \ {t[2]}
  /\ UNCHANGED <<run, store, node>>

Jobs(names) == {j \in trainer.jobs : j.ev \in names}
At(names, phase) == {j \in Jobs(names) : j.at = phase}

Now(jobs, phase) == {[j EXCEPT !.at = phase] : j \in jobs}

\* All ranks are there, or nobody begins.
Agree ==
  /\ {j.rank : j \in {x \in trainer.jobs : x.at = "told"}} = Member
  /\ trainer' = [trainer EXCEPT !.jobs = Now(@, "works")]
  /\ UNCHANGED <<run, store, node, msgs>>

\* One rank could not save or load, before anything of it counts: none did.
Abandon ==
  /\ {j.rank : j \in At({"Save", "Load"}, "works") \cup At({"Save"}, "drawn")} = Member
  /\ trainer' = [trainer EXCEPT !.jobs = {[j EXCEPT !.at = "told", !.drawn = <<>>] : j \in @}]
  /\ UNCHANGED <<run, store, node, msgs>>

Draw ==
  /\ At(Writes, "works") # {}
  /\ \E j \in At(Writes, "works") :
       LET drawn == [j EXCEPT !.at = "drawn", !.drawn = trainer.weights[j.rank]]
       IN trainer' = [trainer EXCEPT !.jobs = (@ \ {j}) \cup {drawn}]
  /\ UNCHANGED <<run, store, node, msgs>>

\* What is written becomes durable at once: the whole, or nothing of it. j is the head's job, of are all ranks'.
Result(j, of) ==
  IF j.ev = "Publish"
  THEN [store EXCEPT !.manifests[j.of] = <<[says |-> j.seen, holds |-> j.drawn, all |-> {o.drawn : o \in of}]>>,
                     !.twice = @ \/ store.manifests[j.of] # <<>>]
  ELSE LET whole == [part |-> j.part, weights |-> j.seen, parts |-> {<<o.rank, o.drawn>> : o \in of}]
       IN [store EXCEPT !.saves = Append(@, whole), !.done = @ + 1]

\* All parts of one job are there; and of a version, they are alike.
Whole(of) ==
  /\ {o.rank : o \in of} = Member
  /\ (\A o \in of : o.ev = "Publish") => Cardinality({o.drawn : o \in of}) = 1

Write ==
  /\ At(Writes, "drawn") # {}
  /\ \E j \in {h \in At(Writes, "drawn") : h.rank = First /\ Whole(At({h.ev}, "drawn"))} :
       /\ store' = Result(j, At({j.ev}, "drawn"))
       /\ trainer' = [trainer EXCEPT !.jobs = (@ \ At({j.ev}, "drawn")) \cup Now(At({j.ev}, "drawn"), "written")]
  /\ UNCHANGED <<run, node, msgs>>

Without(j, now) == [trainer EXCEPT !.now = now, !.jobs = @ \ {j}]

Lost == [run EXCEPT !.part = NoPart, !.waits = "nothing", !.publishes = FALSE, !.lost = TRUE]

\* The run asked for this job, and hears of its end: once every rank has answered, or one has failed.
Asked(j) == run.term = j.term /\ IF j.ev = "Publish" THEN run.publishes ELSE run.waits = j.ev

Heard(j, now) ==
  IF now.state = "FAILED" THEN Lost
  ELSE IF now.state # "IDLE" \/ ~Asked(j) THEN run
  ELSE IF j.ev = "Publish" THEN [run EXCEPT !.publishes = FALSE] ELSE [run EXCEPT !.waits = "nothing"]

Over(j, now) == now.state = "IDLE" /\ Asked(j)

Trained ==
  /\ At({"Train"}, "works") # {}
  /\ \E j \in At({"Train"}, "works") :
       LET now == TrainerTrained(trainer.now, j.rank, trainer.now.job)
       IN /\ trainer' = [Without(j, now) EXCEPT !.weights[j.rank] = Append(@, j.of)]
          /\ run' = IF Over(j, now) THEN [Heard(j, now) EXCEPT !.part.pending = @ \ {j.of}] ELSE Heard(j, now)
  /\ UNCHANGED <<store, node, msgs>>

Told(j) ==
  IF j.ev = "Publish" THEN TrainerPublished(trainer.now, j.rank, trainer.now.job, j.drawn)
  ELSE TrainerSaved(trainer.now, j.rank, trainer.now.job)

Written ==
  /\ At(Writes, "written") # {}
  /\ \E j \in At(Writes, "written") : trainer' = Without(j, Told(j)) /\ run' = Heard(j, Told(j))
  /\ UNCHANGED <<store, node, msgs>>

Loaded ==
  /\ At({"Load"}, "works") # {}
  /\ \E j \in At({"Load"}, "works") :
       LET now == TrainerLoaded(trainer.now, j.rank, trainer.now.job)
       IN /\ trainer' = [Without(j, now) EXCEPT !.weights[j.rank] = store.saves[j.of].weights]
          /\ run' = IF Over(j, now) THEN [Heard(j, now) EXCEPT !.part = store.saves[j.of].part, !.lost = FALSE]
                    ELSE Heard(j, now)
  /\ UNCHANGED <<store, node, msgs>>

\* It has not begun, and will not: no other does.
Undone ==
  /\ \E j \in trainer.jobs : j.at = "told"
  /\ \E j \in {k \in trainer.jobs : k.at = "told"} :
       LET now == TrainerUndone(trainer.now, j.rank, trainer.now.job)
       IN trainer' = Without(j, now) /\ run' = Heard(j, now)
  /\ UNCHANGED <<store, node, msgs>>

Failed ==
  /\ trainer.now.state \in TrainerFailed_states
  /\ trainer.jobs # {} \/ trainer.gone # {}
  /\ \E k \in {j.rank : j \in trainer.jobs} \cup trainer.gone : trainer' = [trainer EXCEPT !.now = TrainerFailed(@, k)]
  /\ run' = Lost
  /\ UNCHANGED <<store, node, msgs>>

\* One rank's process ends, and nobody has said so yet.
RankDies ==
  /\ store.crashes < MaxCrash
  /\ \E k \in (Member \ {First}) \ trainer.gone :
       trainer' = [trainer EXCEPT !.gone = @ \cup {k}, !.jobs = {j \in @ : j.rank # k}]
  /\ store' = [store EXCEPT !.crashes = @ + 1]
  /\ UNCHANGED <<run, node, msgs>>

\* Something in a rank's memory is wrong, and nobody knows.
Drift ==
  /\ store.drifts < MaxDrift
  /\ \E k \in Member : trainer' = [trainer EXCEPT !.weights[k] = Append(@, 0)]
  /\ store' = [store EXCEPT !.drifts = @ + 1]
  /\ UNCHANGED <<run, node, msgs>>

\* The processes of all ranks end, and others begin, claimed by nobody, which refuse what was on its way to the old.
TrainerDies ==
  /\ store.crashes < MaxCrash \/ trainer.gone # {}
  /\ trainer' = Fresh
  /\ run' = Lost
  /\ store' = [store EXCEPT !.crashes = IF trainer.gone = {} THEN @ + 1 ELSE @]
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
  \/ Arrive \/ Agree \/ Abandon \/ Trained \/ Draw \/ Write \/ Written \/ Loaded \/ Undone \/ Failed
  \/ RankDies \/ Drift \/ TrainerDies \/ RunDies
  \/ SealDrain \/ Resume \/ Deadline \/ Admit \/ Settle \/ Rest \/ Quiesced \/ Fault
  \/ Lend \/ SendReturned \/ Returned \/ Swap \/ Replace

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties, by the names of the contract. *)

\* The trainer does one thing at a time, each rank and all of them: training and publishing never overlap, and
\* nobody is told that it rests while a rank still works.
T1 ==
  /\ \A k \in Member : Cardinality({j \in trainer.jobs : j.rank = k}) <= 1
  /\ Cardinality({j.ev : j \in trainer.jobs}) <= 1
  /\ trainer.now.state = "IDLE" => trainer.jobs = {}

\* Nothing is generated on a device that is lent, or that the trainer trains on, whatever a gate says.
T2 == \A r \in Replica : node[r].busy => (node[r].gate.lent = <<>> /\ ~(Colocated /\ Jobs({"Train"}) # {}))

Elements(s) == {s[i] : i \in 1..Len(s)}

\* Every group that was issued was trained on once or is in flight.
Accounted(part, weights) ==
  /\ Len(weights) = Cardinality(Elements(weights))
  /\ Elements(weights) \cap part.pending = {}
  /\ Elements(weights) \cup part.pending = 1..(part.next - 1)

\* A checkpoint is whole, with every rank's part, and restores to a state that the run could have been in; so is what
\* goes on from it.
T3 ==
  /\ \A n \in 1..Len(store.saves) :
       /\ store.saves[n].parts = {<<k, store.saves[n].weights>> : k \in Member}
       /\ Accounted(store.saves[n].part, store.saves[n].weights)
  /\ run.lost \/ trainer.now.state = "TRAINING" \/ \A k \in Member : Accounted(run.part, trainer.weights[k])
  /\ Len(store.saves) = store.done

\* A version's number is used once, and its manifest says what was trained into the weights that it holds, and that
\* every rank has. What the trainer has published has one.
Versions ==
  /\ ~store.twice
  /\ trainer.now.version # <<>> => store.manifests[trainer.now.version[1]] # <<>>
  /\ \A v \in 0..MaxVersion : store.manifests[v] # <<>> =>
       /\ store.manifests[v][1].says = store.manifests[v][1].holds
       /\ store.manifests[v][1].all = {store.manifests[v][1].holds}

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
