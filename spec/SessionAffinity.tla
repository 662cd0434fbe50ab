-------------------------- MODULE SessionAffinity --------------------------
(* One session, from its first turn to its tombstone: its server that
   restarts, replicas that are replaced, leases on their way, and consumers
   that read its trace.

   What is legal, and what changes, is in the generated module Session alone.
   Written here: the disk, the way of a request, and who lives and dies.

   Modelled:
   - A step that is durable before it is answered changes `now` and `disk`
     at once: nobody hears of it before. A restart goes on from `disk`, and
     what was on its way to the former life is gone. Its downtime is no step
     of its own, since what others do meanwhile needs no server.
   - The request of a turn is on its way from the moment when the turn began.
     It names an incarnation, arrives late or never, and is refused by any
     other. The first one of a session is forwarded only when its server
     says that the binding is on the disk; the news that it was admitted
     arrives late and again, whatever became of it since.
   - An end is told late and again: of a lease that is over, of an incarnation
     that has ended, of a consumer, which may be alive all the same.
   - does, names, was, again, freed and consumer are what really happened. No
     table reads them; the properties compare them with what the tables say.

   Left out:
   - Other sessions: no rule of one reads another, and a lease, a trace and a
     tombstone belong to one. A restart of the server is a restart for each.
   - Gate and Lease: a lease is asked for, admitted, runs and is over. It may
     end at any point, for any reason (refused, aborted, settled, given up),
     and ends for ever, which is G4, and judged with the gate. Admission may
     happen whenever the incarnation lives; a gate only makes that rarer.
   - Versions, loads and planned leaving: they choose among replicas. Here
     any is chosen, and a session is moved whenever its policy allows it.
   - Repeats of a command, which are answered by operation id without a step.
   - Two servers of one session at a time: the next begins when the process
     of the former has ended. *)
EXTENDS Session, Naturals, Sequences, FiniteSets

CONSTANTS
  Replica,     \* names of replicas; <<r, n>> is the n-th incarnation of replica r
  MaxLoss,     \* how many incarnations end
  MaxTurn,     \* how many turns are begun; a lease is named by the number of its turn
  MaxBinding,  \* how often the session is bound
  MaxRestart,  \* how often its server restarts
  Consumer,    \* those who read the trace; each is one life of a process
  Policies     \* what the session's policy may be

VARIABLES
  server,      \* the session as its server has it, on its disk, and what really happened to it
  lease,       \* lease[l]: what the request of turn l really does, where, under which binding
  alive,       \* alive[r]: the incarnation of replica r that lives
  consumer     \* what each consumer really does

vars == <<server, lease, alive, consumer>>

\* Steps that are on the disk before anyone hears of them.
Durable == {"BeginTurn", "Bound", "Finish", "Take", "Release", "ConsumerLost", "Retire", "Rebind", "Expire"}

Unused == [does |-> "nothing", at |-> <<>>, number |-> 0, told |-> FALSE]

Init ==
  /\ server \in {[now      |-> SessionInit(p),   \* what the server has in memory
                  disk     |-> SessionInit(p),   \* what the next life of the server begins with
                  names    |-> <<>>,             \* the incarnation that each binding named, by its number
                  was      |-> "open",           \* the furthest that it was said to be: open, finished, retiring, retired
                  again    |-> FALSE,            \* a turn began after it was said to be over
                  freed    |-> FALSE,            \* the trace is gone
                  restarts |-> 0] : p \in Policies}
  /\ lease = [l \in 1..MaxTurn |-> Unused]
  /\ alive = [r \in Replica |-> 1]
  /\ consumer = [c \in Consumer |-> "asks"]

-----------------------------------------------------------------------------
(* The session steps. *)

Lives(i) == alive[i[1]] = i[2]

\* What those are told who asked for the step, or ask for the session after it.
Furthest(was, name, state) ==
  CASE state = "RETIRED" -> "retired"
    [] name \in {"Retire", "Expire"} /\ state # "RETIRED" /\ was # "retired" -> "retiring"
    [] name = "Finish" /\ was = "open" -> "finished"
    [] OTHER -> was

\* The server after the session's step `name` gave t: the record, and what is put out.
After(name, t) ==
  [server EXCEPT
    !.now = t[1],
    !.disk = IF name \in Durable THEN t[1] ELSE @,
    !.names = IF t[1].binding > Len(@) THEN Append(@, t[1].incarnation[1]) ELSE @,
    !.was = Furthest(@, name, t[1].state),
    !.again = @ \/ (name = "BeginTurn" /\ server.was # "open"),
    !.freed = @ \/ \E i \in 1..Len(t[2]) : t[2][i].out = "FreeTrace"]

\* t is the pair of a step, or empty where nothing is to be done.
Steps(name, t) == IF t = <<>> THEN {} ELSE {After(name, t)}

-----------------------------------------------------------------------------
(* Turns, and the way of their requests. *)

Unbegun == {l \in 1..MaxTurn : lease[l].does = "nothing"}

First == CHOOSE l \in Unbegun : \A k \in Unbegun : l <= k

\* The first request goes to any replica, each later one to where the session is bound.
Requests ==
  IF server.now.incarnation = <<>>
  THEN {[does |-> "asked", at |-> <<r, alive[r]>>, number |-> 0, told |-> FALSE] : r \in Replica}
  ELSE {[does |-> "asked", at |-> server.now.incarnation[1], number |-> server.now.binding, told |-> FALSE]}

BeginTurn ==
  /\ server.now.state \in SessionBeginTurn_states
  /\ Unbegun # {}
  /\ \E t \in UNION {{<<s, [lease EXCEPT ![First] = x]>> : x \in Requests} :
                       s \in Steps("BeginTurn", SessionBeginTurn_step(server.now, First))} :
       server' = t[1] /\ lease' = t[2]
  /\ UNCHANGED <<alive, consumer>>

Doing(what) == {l \in 1..MaxTurn : lease[l].does = what}

\* It arrives. A turn of a bound session goes to the engine at once; the first waits for the binding.
Admitted(x) == IF x.number = 0 THEN [x EXCEPT !.does = "admitted", !.told = TRUE] ELSE [x EXCEPT !.does = "runs"]

Admit ==
  /\ Doing("asked") # {}
  /\ \E ls \in {[lease EXCEPT ![l] = Admitted(@)] : l \in {k \in Doing("asked") : Lives(lease[k].at)}} : lease' = ls
  /\ UNCHANGED <<server, alive, consumer>>

Told == {l \in 1..MaxTurn : lease[l].told}

\* The news of its admission reaches the server; if that binds the session, the request may be forwarded.
Bound ==
  /\ server.now.state \in SessionBound_states
  /\ Told # {}
  /\ \E t \in UNION {{<<s, [lease EXCEPT ![l].number = IF @ = 0 /\ lease[l].does = "admitted" THEN s.now.binding ELSE @]>> :
                        s \in Steps("Bound", SessionBound_step(server.now, lease[l].at[1], lease[l].at))} : l \in Told} :
       server' = t[1] /\ lease' = t[2]
  /\ UNCHANGED <<alive, consumer>>

Forward ==
  /\ Doing("admitted") # {}
  /\ \E ls \in {[lease EXCEPT ![l].does = "runs"] : l \in {k \in Doing("admitted") : lease[k].number > 0}} : lease' = ls
  /\ UNCHANGED <<server, alive, consumer>>

Ended(x) == [x EXCEPT !.does = "over", !.number = 0, !.at = IF x.told THEN @ ELSE <<>>]

Open == {l \in 1..MaxTurn : lease[l].does \in {"asked", "admitted", "runs"}}

\* Refused, aborted (and remembered, so that it is refused if it still arrives), settled or given up.
LeaseEnds ==
  /\ Open # {}
  /\ \E ls \in {[lease EXCEPT ![l] = Ended(@)] : l \in Open} : lease' = ls
  /\ UNCHANGED <<server, alive, consumer>>

\* No request of these will ever run again: they are over, or meant for an incarnation that has ended.
Over == {l \in 1..MaxTurn : lease[l].does = "over" \/ (lease[l].does = "asked" /\ ~Lives(lease[l].at))}

EndTurn ==
  /\ server.now.state \in SessionEndTurn_states
  /\ Over # {}
  /\ \E s \in UNION {Steps("EndTurn", SessionEndTurn_step(server.now, l)) : l \in Over} : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

-----------------------------------------------------------------------------
(* The life of the session. *)

Finish ==
  /\ server.now.state \in SessionFinish_states
  /\ \E s \in Steps("Finish", SessionFinish_step(server.now)) : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

Retire ==
  /\ server.now.state \in SessionRetire_states
  /\ \E s \in Steps("Retire", SessionRetire_step(server.now)) : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

Expire ==
  /\ server.now.state \in SessionExpire_states
  /\ \E s \in Steps("Expire", SessionExpire_step(server.now)) : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

Gone == UNION {{<<r, n>> : n \in 1..(alive[r] - 1)} : r \in Replica}

Lose ==
  /\ server.now.state \in SessionLose_states
  /\ Gone # {}
  /\ \E s \in UNION {Steps("Lose", SessionLose_step(server.now, i)) : i \in Gone} \ {server} : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

\* To where it is already, it is not moved.
Elsewhere == {r \in Replica : server.now.incarnation # <<<<r, alive[r]>>>>}

Rebind ==
  /\ server.now.state \in SessionRebind_states
  /\ server.now.binding < MaxBinding
  /\ \E s \in UNION {Steps("Rebind", SessionRebind_step(server.now, r, <<r, alive[r]>>)) : r \in Elsewhere} : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

-----------------------------------------------------------------------------
(* Consumers: each asks, reads once it was let, and then no more. One that has
   died reads until somebody says so. *)

Those(what) == {c \in Consumer : consumer[c] = what}

Take ==
  /\ server.now.state \in SessionTake_states
  /\ Those("asks") # {}
  /\ \E t \in UNION {{<<s, [consumer EXCEPT ![c] = "reads"]>> : s \in Steps("Take", SessionTake_step(server.now, c))} :
                       c \in Those("asks")} : server' = t[1] /\ consumer' = t[2]
  /\ UNCHANGED <<lease, alive>>

\* It has read, and sends that on its way.
HasRead ==
  /\ Those("reads") # {}
  /\ \E cs \in {[consumer EXCEPT ![c] = "releases"] : c \in Those("reads")} : consumer' = cs
  /\ UNCHANGED <<server, lease, alive>>

Release ==
  /\ server.now.state \in SessionRelease_states
  /\ Those("releases") # {}
  /\ \E s \in UNION {Steps("Release", SessionRelease_step(server.now, c)) : c \in Those("releases")} : server' = s
  /\ UNCHANGED <<lease, alive, consumer>>

\* It is said to be lost, and may read no more. If it lives it takes the trace again, or releases it all the same.
Ousted(c) == IF consumer[c] = "reads" THEN {"asks", "releases"} ELSE {consumer[c]}

ConsumerLost ==
  /\ server.now.state \in SessionConsumerLost_states
  /\ \E t \in UNION {UNION {{<<s, [consumer EXCEPT ![c] = does]>> : does \in Ousted(c)} :
                       s \in Steps("ConsumerLost", SessionConsumerLost_step(server.now, c))} : c \in Consumer} :
       server' = t[1] /\ consumer' = t[2]
  /\ UNCHANGED <<lease, alive>>

-----------------------------------------------------------------------------
(* Processes end. *)

\* A replica's process ends, and the next takes its place. What it had admitted is lost.
Replaced(r) ==
  [l \in 1..MaxTurn |->
     IF lease[l].does \in {"admitted", "runs"} /\ lease[l].at = <<r, alive[r]>> THEN Ended(lease[l]) ELSE lease[l]]

Replace ==
  /\ Cardinality(Gone) < MaxLoss
  /\ \E t \in {<<[alive EXCEPT ![r] = @ + 1], Replaced(r)>> : r \in Replica} :
       alive' = t[1] /\ lease' = t[2]
  /\ UNCHANGED <<server, consumer>>

\* Whoever asks for the admission of an earlier life's request is no longer there.
Unheard(x) == IF x.does = "over" THEN [x EXCEPT !.told = FALSE, !.at = <<>>] ELSE [x EXCEPT !.told = FALSE]

Restart ==
  /\ server.restarts < MaxRestart
  /\ server.now # server.disk \/ Told # {}
  /\ server' = [server EXCEPT !.now = server.disk, !.restarts = @ + 1]
  /\ lease' = [l \in 1..MaxTurn |-> Unheard(lease[l])]
  /\ UNCHANGED <<alive, consumer>>

-----------------------------------------------------------------------------

Next ==
  \/ BeginTurn \/ Admit \/ Bound \/ Forward \/ LeaseEnds \/ EndTurn
  \/ Finish \/ Retire \/ Expire \/ Lose \/ Rebind
  \/ Take \/ HasRead \/ Release \/ ConsumerLost
  \/ Replace \/ Restart

Spec == Init /\ [][Next]_vars

\* Every lease ends (L2), and is asked about until its end is known.
FairSpec == Spec /\ WF_vars(LeaseEnds) /\ WF_vars(EndTurn)

-----------------------------------------------------------------------------
(* Properties, by the names of the contract. *)

\* All turns of one binding number run on its incarnation.
S1 ==
  /\ \A l \in Doing("runs") : lease[l].number \in 1..Len(server.names) /\ server.names[lease[l].number] = lease[l].at
  /\ server.now.binding > 0 =>
       /\ server.now.binding <= Len(server.names)
       /\ server.now.incarnation = <<server.names[server.now.binding]>>
       /\ server.now.replica = <<server.names[server.now.binding][1]>>

\* A retired or finished session never runs again.
S2 == /\ ~server.again
      /\ server.was \in {"finished", "retired"} => Doing("runs") = {}

\* No trace is freed while a consumer may read it.
S3 == server.freed => Those("reads") = {}

\* Retired: no lease is unsettled, and none is known where no turn is active.
S4 == /\ server.was = "retired" => (Doing("admitted") = {} /\ Doing("runs") = {})
      /\ server.now.state \in {"NEW", "BOUND", "FINISHED", "TRAINING", "RETIRED"} => server.now.leases = {}

\* The trace of a session that is retired is freed.
Freed == server.now.state = "RETIRED" => server.freed

\* A session is moved as its policy says: never; when its incarnation has ended; or at any time.
Policy ==
  CASE server.now.policy = "never" -> Len(server.names) <= 1
    [] server.now.policy = "on_loss" -> \A k \in 1..(Len(server.names) - 1) : ~Lives(server.names[k])
    [] OTHER -> TRUE

\* Every retiring session is retired.
L4 == server.now.state = "RETIRING" ~> server.now.state = "RETIRED"

(* States that must be reached: each is checked as if it could not be. *)
NeverRecovers == ~(Len(server.names) = 2 /\ ~Lives(server.names[1]) /\ Doing("runs") # {})
NeverMoves    == ~(Len(server.names) = 2 /\ Lives(server.names[1]))
NeverRereads  == ~(server.freed /\ Cardinality(Those("releases")) = 2)
NeverLate     == ~(server.now.state = "RETIRED" /\ Doing("asked") # {})
=============================================================================
