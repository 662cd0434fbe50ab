---------------------------- MODULE SessionSteps ----------------------------
(* One session, and everybody who may tell it anything, at any time: any
   request, any incarnation, any consumer.

   SessionAffinity asks what comes of whole runs. This holds each single step
   to the contract, by what it changed and what it put out, never by the rule
   that did it: who binds it and under which number, whose lease begins and
   ends a turn, who reads it, and when its trace is freed.

   Left out: what requests and consumers really do, and the server's disk,
   which are in SessionAffinity.

   wrong collects the names of properties that a step has broken. *)
EXTENDS Session, Naturals, Sequences, FiniteSets

CONSTANTS
  Policies,    \* what the session's policy may be
  Lease,       \* ids of requests
  Replica,     \* names of replicas
  Life,        \* incarnations
  Consumer,    \* those who may read the trace
  MaxBinding   \* how often the session is bound

VARIABLES
  m,           \* the session
  wrong        \* names of properties that a step has broken

vars == <<m, wrong>>

Init == m \in {SessionInit(p) : p \in Policies} /\ wrong = {}

-----------------------------------------------------------------------------
(* What is held against a step from m to s that put out outs. *)

Unless(holds, name) == IF holds THEN {} ELSE {name}

Names(outs) == {outs[i].out : i \in 1..Len(outs)}

Place(s) == [replica |-> s.replica, incarnation |-> s.incarnation]

Over(by) == by \in {"Retire", "Expire"}

\* What must be so before the session comes to a state.
Enters(s, by) ==
  IF s.state = m.state THEN {}
  ELSE CASE s.state = "NEW" -> Unless(by = "EndTurn" /\ m.state = "BINDING", "Turn")
         [] s.state = "BINDING" -> Unless(by = "BeginTurn" /\ m.state = "NEW", "Turn")
         [] s.state = "BOUND" ->
              Unless(\/ by = "EndTurn" /\ m.state = "TURN" /\ s.leases = {}
                     \/ by = "Rebind" /\ m.state = "LOST" /\ m.leases = {} /\ m.policy # "never", "Rebind")
         [] s.state = "TURN" ->
              Unless((by = "BeginTurn" /\ m.state = "BOUND") \/ (by = "Bound" /\ m.state = "BINDING"), "Turn")
         [] s.state = "FINISHED" ->
              Unless((by = "Finish" /\ m.state = "BOUND") \/ (by = "ConsumerLost" /\ m.state = "TRAINING"), "Finish")
         [] s.state = "TRAINING" -> Unless(by = "Take" /\ m.state = "FINISHED", "Take")
         \* A turn is no reason to wait for the time to live: each call renews it.
         [] s.state = "RETIRING" ->
              Unless(/\ Over(by) /\ m.leases # {}
                     /\ m.state \in {"BINDING", "LOST"} \/ (m.state = "TURN" /\ by = "Retire"), "Retire")
         [] s.state = "RETIRED" ->
              Unless(\/ Over(by) /\ m.state \in {"NEW", "BOUND", "FINISHED", "LOST"}
                     \/ by = "EndTurn" /\ m.state = "RETIRING"
                     \/ by = "Release" /\ m.state = "TRAINING", "Retire")
         [] s.state = "LOST" -> Unless(by = "Lose" /\ m.state \in {"BOUND", "TURN"}, "Lose")

\* What comes with each change of the session, whatever caused it.
Always(s, outs, by) ==
  Unless(s.policy = m.policy, "Given")
  \cup Unless(s.leases = m.leases \/ by \in {"BeginTurn", "EndTurn"}, "Turn")
  \cup Unless(s.consumer = m.consumer \/ by \in {"Take", "Release", "ConsumerLost"}, "S3")
  \* It is moved by its first admission and by rebinding, and each time under the next number.
  \cup Unless(\/ Place(s) = Place(m) /\ s.binding = m.binding
              \/ by \in {"Bound", "Rebind"} /\ s.binding = m.binding + 1, "S1")
  \* What is finished is read and retired, and runs no more; what is retired stays it.
  \cup Unless(m.state \notin {"FINISHED", "TRAINING"} \/ s.state \in {"FINISHED", "TRAINING", "RETIRED"}, "S2")
  \cup Unless(m.state # "RETIRING" \/ s.state \in {"RETIRING", "RETIRED"}, "S2")
  \cup Unless(m.state # "RETIRED" \/ s = m, "S2")
  \* A trace has a reader exactly while it is read, and is freed exactly when nobody needs the session any more.
  \cup Unless((s.consumer # <<>>) = (s.state = "TRAINING"), "S3")
  \cup Unless(("FreeTrace" \in Names(outs)) = (s.state = "RETIRED" /\ m.state # "RETIRED"), "S3")
  \cup Unless(s.state \notin {"NEW", "BOUND", "FINISHED", "TRAINING", "RETIRED"} \/ s.leases = {}, "S4")
  \* A request whose session is not bound was never forwarded, and is settled as that.
  \cup Unless(outs = IF m.state = "BINDING" /\ by \in {"Retire", "Expire", "Lose"}
                     THEN <<[out |-> "SettleNotSent", leases |-> m.leases]>>
                     ELSE IF "FreeTrace" \in Names(outs) THEN <<[out |-> "FreeTrace"]>> ELSE <<>>, "Tells")
  \cup Enters(s, by)

-----------------------------------------------------------------------------
(* The events: each with what is held against it alone. *)

Steps(by, t, own) == {<<t[1], own \cup Always(t[1], t[2], by)>>}

Becomes(x) == m' = x[1] /\ wrong' = wrong \cup x[2]

OfBeginTurn(l) ==
  LET t == SessionBeginTurn_step(m, l)
  IN IF t = <<>> THEN {}
     ELSE Steps("BeginTurn", t,
                Unless(/\ m.state \in {"NEW", "BOUND", "TURN"}
                       /\ t[1] = [m EXCEPT !.state = IF @ = "NEW" THEN "BINDING" ELSE "TURN", !.leases = @ \cup {l}], "Turn"))

OfBound(r, i) ==
  LET t == SessionBound_step(m, r, i)
  IN IF t = <<>> THEN {}
     ELSE Steps("Bound", t,
                Unless(/\ m.state = "BINDING"
                       /\ t[1] = [m EXCEPT !.state = "TURN", !.replica = <<r>>, !.incarnation = <<i>>, !.binding = @ + 1], "S1"))

\* The last one ends the turn, and what waited for that.
Ends(state) ==
  CASE state = "BINDING" -> "NEW" [] state = "TURN" -> "BOUND" [] state = "RETIRING" -> "RETIRED" [] OTHER -> state

OfEndTurn(l) ==
  LET t == SessionEndTurn_step(m, l)
  IN IF t = <<>> THEN {}
     ELSE Steps("EndTurn", t,
                Unless(/\ l \in m.leases
                       /\ t[1] = [m EXCEPT !.state = IF m.leases = {l} THEN Ends(@) ELSE @, !.leases = @ \ {l}], "Turn"))

OfFinish ==
  LET t == SessionFinish_step(m)
  IN IF t = <<>> THEN {} ELSE Steps("Finish", t, Unless(t[1] = [m EXCEPT !.state = "FINISHED"], "Finish"))

OfTake(c) ==
  LET t == SessionTake_step(m, c)
  IN IF t = <<>> THEN {}
     ELSE Steps("Take", t,
                Unless(m.state = "FINISHED" /\ t[1] = [m EXCEPT !.state = "TRAINING", !.consumer = <<c>>], "Take"))

OfRelease(c) ==
  LET t == SessionRelease_step(m, c)
  IN IF t = <<>> THEN {}
     ELSE Steps("Release", t,
                Unless(m.consumer = <<c>> /\ t[1] = [m EXCEPT !.state = "RETIRED", !.consumer = <<>>], "S3"))

OfConsumerLost(c) ==
  LET t == SessionConsumerLost_step(m, c)
  IN IF t = <<>> THEN {}
     ELSE Steps("ConsumerLost", t,
                Unless(m.consumer = <<c>> /\ t[1] = [m EXCEPT !.state = "FINISHED", !.consumer = <<>>], "S3"))

\* It is over at once where nothing of it may run, else when that has ended.
IsOver(s) == s = [m EXCEPT !.state = IF m.leases = {} THEN "RETIRED" ELSE "RETIRING"]

OfRetire ==
  LET t == SessionRetire_step(m)
  IN IF t = <<>> THEN {} ELSE Steps("Retire", t, Unless(m.state # "TRAINING" /\ IsOver(t[1]), "Retire"))

OfExpire ==
  LET t == SessionExpire_step(m)
  IN IF t = <<>> THEN {} ELSE Steps("Expire", t, Unless(m.state \notin {"TRAINING", "TURN"} /\ IsOver(t[1]), "Retire"))

\* Its own incarnation has ended. One that is not bound has none, and its request was not sent.
OfLose(i) ==
  LET t == SessionLose_step(m, i)
  IN IF t = <<>> THEN {}
     ELSE Steps("Lose", t,
                Unless(IF m.state = "BINDING" THEN t[1] = m
                       ELSE m.incarnation = <<i>> /\ t[1] = [m EXCEPT !.state = "LOST"], "Lose"))

OfRebind(r, i) ==
  LET t == SessionRebind_step(m, r, i)
  IN IF t = <<>> THEN {}
     ELSE Steps("Rebind", t,
                Unless(/\ \/ m.state = "BOUND" /\ m.policy = "on_evacuation"
                          \/ m.state = "LOST" /\ m.leases = {} /\ m.policy # "never"
                       /\ t[1] = [m EXCEPT !.state = "BOUND", !.replica = <<r>>, !.incarnation = <<i>>, !.binding = @ + 1],
                       "Rebind"))

-----------------------------------------------------------------------------

BeginTurn == \E x \in UNION {OfBeginTurn(l) : l \in Lease} : Becomes(x)
Bound ==
  /\ m.state \in SessionBound_states /\ m.binding < MaxBinding
  /\ \E x \in UNION {UNION {OfBound(r, i) : i \in Life} : r \in Replica} : Becomes(x)
EndTurn == \E x \in UNION {OfEndTurn(l) : l \in Lease} : Becomes(x)
Finish == \E x \in OfFinish : Becomes(x)
Take == \E x \in UNION {OfTake(c) : c \in Consumer} : Becomes(x)
Release == \E x \in UNION {OfRelease(c) : c \in Consumer} : Becomes(x)
ConsumerLost == \E x \in UNION {OfConsumerLost(c) : c \in Consumer} : Becomes(x)
Retire == \E x \in OfRetire : Becomes(x)
Lose == \E x \in UNION {OfLose(i) : i \in Life} : Becomes(x)
Rebind ==
  /\ m.state \in SessionRebind_states /\ m.binding < MaxBinding
  /\ \E x \in UNION {UNION {OfRebind(r, i) : i \in Life} : r \in Replica} : Becomes(x)
Expire == \E x \in OfExpire : Becomes(x)

Next ==
  \/ BeginTurn \/ Bound \/ EndTurn \/ Finish \/ Take \/ Release \/ ConsumerLost \/ Retire \/ Lose \/ Rebind \/ Expire

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties: every step is as the contract has it. *)

\* Nothing changes but what the event is about, and with it comes what the contract wants.
EveryStep == wrong = {}

\* What must be taken is taken: a session that only refused would break nothing else here.
Obeys ==
  /\ m.state \in {"NEW", "BOUND", "TURN"} => \A l \in Lease : SessionBeginTurn_acts(m, l)
  /\ m.state = "BINDING" =>
       /\ \A r \in Replica : \A i \in Life : SessionBound_acts(m, r, i)
       /\ \A i \in Life : SessionLose_acts(m, i)
  /\ \A l \in m.leases : SessionEndTurn_acts(m, l)
  /\ m.state = "BOUND" => SessionFinish_acts(m)
  /\ m.state = "FINISHED" => \A c \in Consumer : SessionTake_acts(m, c)
  /\ m.state = "TRAINING" =>
       /\ SessionRelease_acts(m, m.consumer[1])
       /\ SessionConsumerLost_acts(m, m.consumer[1])
  /\ m.state \in {"NEW", "BINDING", "BOUND", "TURN", "FINISHED", "LOST"} => SessionRetire_acts(m)
  /\ m.state \in {"NEW", "BINDING", "BOUND", "FINISHED", "LOST"} => SessionExpire_acts(m)
  /\ m.state \in {"BOUND", "TURN"} => SessionLose_acts(m, m.incarnation[1])
  /\ (m.state = "BOUND" /\ m.policy = "on_evacuation") =>
       \A r \in Replica : \A i \in Life : SessionRebind_acts(m, r, i)
  /\ (m.state = "LOST" /\ m.leases = {} /\ m.policy # "never") =>
       \A r \in Replica : \A i \in Life : SessionRebind_acts(m, r, i)
=============================================================================
