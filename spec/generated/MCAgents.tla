\* Made by `sluicegate generate` from the machine Agents; do not edit.
------------------------------- MODULE MCAgents --------------------------------
EXTENDS Agents, Naturals, Sequences, FiniteSets

CONSTANTS TurnId

VARIABLE m

Init == m = AgentsInit

AgentsTurnBeginsBegins ==
    /\ m.state \in AgentsTurnBeginsBegins_states
    /\ \E a_turn \in TurnId :
        /\ AgentsTurnBeginsBegins_when(m, a_turn)
        /\ m' = AgentsTurnBeginsBegins_next(m, a_turn)

AgentsTurnBeginsPaused ==
    /\ m.state \in AgentsTurnBeginsPaused_states
    /\ AgentsTurnBeginsPaused_when(m, 0)
    /\ UNCHANGED m

AgentsTurnBeginsClosed ==
    /\ m.state \in AgentsTurnBeginsClosed_states
    /\ AgentsTurnBeginsClosed_when(m, 0)
    /\ UNCHANGED m

AgentsTurnEndsEnds ==
    /\ m.state \in AgentsTurnEndsEnds_states
    /\ \E a_turn \in TurnId :
        /\ AgentsTurnEndsEnds_when(m, a_turn)
        /\ m' = AgentsTurnEndsEnds_next(m, a_turn)

AgentsTurnEndsEndsPausing ==
    /\ m.state \in AgentsTurnEndsEndsPausing_states
    /\ \E a_turn \in TurnId :
        /\ AgentsTurnEndsEndsPausing_when(m, a_turn)
        /\ m' = AgentsTurnEndsEndsPausing_next(m, a_turn)

AgentsTurnEndsEndsPausing2 ==
    /\ m.state \in AgentsTurnEndsEndsPausing2_states
    /\ \E a_turn \in TurnId :
        /\ AgentsTurnEndsEndsPausing2_when(m, a_turn)
        /\ m' = AgentsTurnEndsEndsPausing2_next(m, a_turn)

AgentsTurnEndsEndsPausingIgnore ==
    /\ m.state \in AgentsTurnEndsEndsPausingIgnore_states
    /\ \E a_turn \in TurnId :
        /\ AgentsTurnEndsEndsPausingIgnore_when(m, a_turn)
        /\ UNCHANGED m

AgentsTurnEndsIgnore ==
    /\ m.state \in AgentsTurnEndsIgnore_states
    /\ AgentsTurnEndsIgnore_when(m, 0)
    /\ UNCHANGED m

AgentsPausePauses ==
    /\ m.state \in AgentsPausePauses_states
    /\ AgentsPausePauses_when(m)
    /\ m' = AgentsPausePauses_next(m)

AgentsPausePausesOtherwise ==
    /\ m.state \in AgentsPausePausesOtherwise_states
    /\ AgentsPausePausesOtherwise_when(m)
    /\ m' = AgentsPausePausesOtherwise_next(m)

AgentsPauseIgnore ==
    /\ m.state \in AgentsPauseIgnore_states
    /\ AgentsPauseIgnore_when(m)
    /\ UNCHANGED m

AgentsPauseClosed ==
    /\ m.state \in AgentsPauseClosed_states
    /\ AgentsPauseClosed_when(m)
    /\ UNCHANGED m

AgentsResumeIgnore ==
    /\ m.state \in AgentsResumeIgnore_states
    /\ AgentsResumeIgnore_when(m)
    /\ UNCHANGED m

AgentsResumeResumes ==
    /\ m.state \in AgentsResumeResumes_states
    /\ AgentsResumeResumes_when(m)
    /\ m' = AgentsResumeResumes_next(m)

AgentsResumeClosed ==
    /\ m.state \in AgentsResumeClosed_states
    /\ AgentsResumeClosed_when(m)
    /\ UNCHANGED m

AgentsCloseToClosed ==
    /\ m.state \in AgentsCloseToClosed_states
    /\ AgentsCloseToClosed_when(m)
    /\ m' = AgentsCloseToClosed_next(m)

AgentsCloseIgnore ==
    /\ m.state \in AgentsCloseIgnore_states
    /\ AgentsCloseIgnore_when(m)
    /\ UNCHANGED m

Changes ==
    \/ AgentsTurnBeginsBegins
    \/ AgentsTurnEndsEnds
    \/ AgentsTurnEndsEndsPausing
    \/ AgentsTurnEndsEndsPausing2
    \/ AgentsPausePauses
    \/ AgentsPausePausesOtherwise
    \/ AgentsResumeResumes
    \/ AgentsCloseToClosed

Next ==
    \/ Changes
    \/ AgentsTurnBeginsPaused
    \/ AgentsTurnBeginsClosed
    \/ AgentsTurnEndsEndsPausingIgnore
    \/ AgentsTurnEndsIgnore
    \/ AgentsPauseIgnore
    \/ AgentsPauseClosed
    \/ AgentsResumeIgnore
    \/ AgentsResumeClosed
    \/ AgentsCloseIgnore

Spec == Init /\ [][Next]_m

TypeOK ==
    /\ m.state \in AgentsStates
    /\ (\A bound5 \in m.turns : bound5 \in TurnId)

\* never QUIET and (not (turns is empty))
quiet_is_quiet == ~((m.state = "QUIET") /\ (m.turns # {}))

\* never PAUSING and (turns is empty)
pausing_waits == ~((m.state = "PAUSING") /\ (m.turns = {}))

\* TurnEnds comes in the end, if from some moment on it could always change something: within the
\* scope; and with what would lead out of it.
Fair_TurnEnds == WF_m(AgentsTurnEndsEnds \/ AgentsTurnEndsEndsPausing \/ AgentsTurnEndsEndsPausing2)
Can_TurnEnds == \E a_turn \in TurnId : AgentsTurnEnds(m, a_turn) # m
Wide_TurnEnds == []<>~Can_TurnEnds \/ []<><<AgentsTurnEndsEnds \/ AgentsTurnEndsEndsPausing \/ AgentsTurnEndsEndsPausing2>>_m

\* PAUSING leads to QUIET or FLOWING or CLOSED, if TurnEnds can be relied on
pause_ends == Fair_TurnEnds => ((m.state = "PAUSING") ~> ((m.state = "QUIET") \/ (m.state = "FLOWING") \/ (m.state = "CLOSED")))
Within_pause_ends == Wide_TurnEnds => ((m.state = "PAUSING") ~> ((m.state = "QUIET") \/ (m.state = "FLOWING") \/ (m.state = "CLOSED")))

================================================================================
