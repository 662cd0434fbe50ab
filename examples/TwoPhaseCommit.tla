--------------------------- MODULE TwoPhaseCommit ---------------------------
\* A coordinator and its members, each a machine of commit.py, and the messages between them. What an
\* event does is not said here: it is in the tables, as CoordinatorYes(...), ParticipantCommit(...).
\* Messages are never lost, and stay where they are: they can be read late, and again.
EXTENDS Coordinator, Participant, Naturals, Sequences, FiniteSets

CONSTANTS
    Member,     \* the participants
    Crashes     \* whether the coordinator can crash

VARIABLES
    coordinator,    \* the record of the coordinator
    members,        \* the record of each member
    sent            \* every message so far

vars == <<coordinator, members, sent>>

Init ==
    /\ coordinator = CoordinatorInit(Member)
    /\ members = [p \in Member |-> ParticipantInit]
    /\ sent = {}

\* The coordinator asks a member, or tells it what it has decided: one by one, and it can crash between.
Ask(p) ==
    /\ coordinator.state = "ASKING"
    /\ sent' = sent \cup {[to |-> p, what |-> "prepare"]}
    /\ UNCHANGED <<coordinator, members>>

Tell(p) ==
    /\ coordinator.state \in {"COMMITTED", "ABORTED"}
    /\ sent' = sent \cup {[to |-> p, what |-> coordinator.state]}
    /\ UNCHANGED <<coordinator, members>>

Hear(p) ==
    \/ /\ [to |-> p, what |-> "yes"] \in sent
       /\ coordinator' = CoordinatorYes(coordinator, p)
       /\ UNCHANGED <<members, sent>>
    \/ /\ [to |-> p, what |-> "no"] \in sent
       /\ coordinator' = CoordinatorNo(coordinator)
       /\ UNCHANGED <<members, sent>>

Timeout ==
    /\ coordinator' = CoordinatorTimeout(coordinator)
    /\ UNCHANGED <<members, sent>>

Crash ==
    /\ Crashes
    /\ coordinator' = CoordinatorCrash(coordinator)
    /\ UNCHANGED <<members, sent>>

Prepare(p) ==
    /\ [to |-> p, what |-> "prepare"] \in sent
    /\ members[p].state = "WORKING"
    /\ members' = [members EXCEPT ![p] = ParticipantPrepare(@)]
    /\ sent' = sent \cup {[to |-> p, what |-> "yes"]}
    /\ UNCHANGED coordinator

Fail(p) ==
    /\ members[p].state = "WORKING"
    /\ members' = [members EXCEPT ![p] = ParticipantFail(@)]
    /\ sent' = sent \cup {[to |-> p, what |-> "no"]}
    /\ UNCHANGED coordinator

Commit(p) ==
    /\ [to |-> p, what |-> "COMMITTED"] \in sent
    /\ members' = [members EXCEPT ![p] = ParticipantCommit(@)]
    /\ UNCHANGED <<coordinator, sent>>

Abort(p) ==
    /\ [to |-> p, what |-> "ABORTED"] \in sent
    /\ members' = [members EXCEPT ![p] = ParticipantAbort(@)]
    /\ UNCHANGED <<coordinator, sent>>

Next ==
    \/ Timeout
    \/ Crash
    \/ \E p \in Member : Ask(p)
    \/ \E p \in Member : Tell(p)
    \/ \E p \in Member : Hear(p)
    \/ \E p \in Member : Prepare(p)
    \/ \E p \in Member : Fail(p)
    \/ \E p \in Member : Commit(p)
    \/ \E p \in Member : Abort(p)

\* All that can always happen does in the end; nobody has to fail or to crash.
FairSpec ==
    /\ Init /\ [][Next]_vars
    /\ WF_vars(Timeout)
    /\ \A p \in Member :
        WF_vars(Ask(p)) /\ WF_vars(Tell(p)) /\ WF_vars(Hear(p)) /\ WF_vars(Prepare(p)) /\ WF_vars(Commit(p)) /\ WF_vars(Abort(p))

\* No member commits where another aborts.
Atomic ==
    \A p \in Member, q \in Member : ~(members[p].state = "COMMITTED" /\ members[q].state = "ABORTED")

\* A member has committed only if all said yes.
Agreed ==
    \A p \in Member : members[p].state = "COMMITTED" => Member = {q \in Member : [to |-> q, what |-> "yes"] \in sent}

\* A member that has prepared learns in the end what was decided.
Decides ==
    \A p \in Member : (members[p].state = "PREPARED") ~> (members[p].state \in {"COMMITTED", "ABORTED"})

=============================================================================
