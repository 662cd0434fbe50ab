\* Made by `sluicegate generate` from the machine Agents; do not edit.
-------------------------------- MODULE Agents ---------------------------------
EXTENDS Naturals, Sequences, FiniteSets

\* The turns of a run's agents: they flow, or are paused where none runs.

\* For an event E and a rule R of it, over the record of an instance before the step and the event's
\* arguments:
\*
\* AgentsER_states: the states in which R can apply; AgentsER_when: R applies; AgentsER_next: the record after
\* it (absent where R leaves it as it is); AgentsER_out: what is to be done then, in order (absent where that
\* is nothing).
\*
\* For the event as a whole: AgentsE_states: the states in which it can change or emit something;
\* AgentsE_acts: it does so now; AgentsE_step: then the record after it and what is to be done, a pair, else
\* the empty sequence; AgentsE: the record after it in any case; AgentsE_out: what is to be done;
\* AgentsE_rule: the name of the rule that applies; AgentsE_refused: whether it is refused.

AgentsStates == {"FLOWING", "PAUSING", "QUIET", "CLOSED"}

\* The record of an instance that was just born.
AgentsInit == [state |-> "FLOWING", turns |-> {}]


\* TurnBegins(turn) ------------------------------------------------------------------------------------------
\* An agent asks the model.

\* begins: stays
AgentsTurnBeginsBegins_states == {"FLOWING"}
AgentsTurnBeginsBegins_when(aTurnBegins, aTurnBegins_turn) == aTurnBegins.state = "FLOWING"
AgentsTurnBeginsBegins_next(aTurnBegins, aTurnBegins_turn) ==
    [aTurnBegins EXCEPT !.turns = aTurnBegins.turns \cup {aTurnBegins_turn}]

\* paused: refused paused, may be tried again
AgentsTurnBeginsPaused_states == {"PAUSING", "QUIET"}
AgentsTurnBeginsPaused_when(aTurnBegins, aTurnBegins_turn) == aTurnBegins.state \in {"PAUSING", "QUIET"}

\* closed: refused closed
AgentsTurnBeginsClosed_states == {"CLOSED"}
AgentsTurnBeginsClosed_when(aTurnBegins, aTurnBegins_turn) == aTurnBegins.state = "CLOSED"

\* the event as a whole
AgentsTurnBegins_states == {"FLOWING"}
AgentsTurnBegins_acts(aTurnBegins, aTurnBegins_turn) ==
    AgentsTurnBeginsBegins_when(aTurnBegins, aTurnBegins_turn)
AgentsTurnBegins_step(aTurnBegins, aTurnBegins_turn) ==
    CASE AgentsTurnBeginsBegins_when(aTurnBegins, aTurnBegins_turn) -> <<AgentsTurnBeginsBegins_next(aTurnBegins, aTurnBegins_turn), <<>>>>
      [] OTHER -> <<>>
AgentsTurnBegins(aTurnBegins, aTurnBegins_turn) ==
    CASE AgentsTurnBeginsBegins_when(aTurnBegins, aTurnBegins_turn) -> AgentsTurnBeginsBegins_next(aTurnBegins, aTurnBegins_turn)
      [] OTHER -> aTurnBegins
AgentsTurnBegins_rule(aTurnBegins, aTurnBegins_turn) ==
    CASE AgentsTurnBeginsBegins_when(aTurnBegins, aTurnBegins_turn) -> "begins"
      [] AgentsTurnBeginsPaused_when(aTurnBegins, aTurnBegins_turn) -> "paused"
      [] AgentsTurnBeginsClosed_when(aTurnBegins, aTurnBegins_turn) -> "closed"
AgentsTurnBegins_out(aTurnBegins, aTurnBegins_turn) == <<>>
AgentsTurnBegins_refused(aTurnBegins, aTurnBegins_turn) ==
    \/ AgentsTurnBeginsPaused_when(aTurnBegins, aTurnBegins_turn)
    \/ AgentsTurnBeginsClosed_when(aTurnBegins, aTurnBegins_turn)


\* TurnEnds(turn) --------------------------------------------------------------------------------------------
\* The agent has its answer, or will have none.

\* ends: stays
AgentsTurnEndsEnds_states == {"FLOWING", "CLOSED"}
AgentsTurnEndsEnds_when(aTurnEnds, aTurnEnds_turn) == aTurnEnds.state \in {"FLOWING", "CLOSED"}
AgentsTurnEndsEnds_next(aTurnEnds, aTurnEnds_turn) ==
    [aTurnEnds EXCEPT !.turns = aTurnEnds.turns \ {aTurnEnds_turn}]

\* ends_pausing: goes to QUIET
AgentsTurnEndsEndsPausing_states == {"PAUSING"}
AgentsTurnEndsEndsPausing_when(aTurnEnds, aTurnEnds_turn) ==
    /\ aTurnEnds.state = "PAUSING"
    /\ aTurnEnds_turn \in aTurnEnds.turns
    /\ Cardinality(aTurnEnds.turns) = 1
AgentsTurnEndsEndsPausing_next(aTurnEnds, aTurnEnds_turn) ==
    [aTurnEnds EXCEPT !.state = "QUIET", !.turns = aTurnEnds.turns \ {aTurnEnds_turn}]
AgentsTurnEndsEndsPausing_out(aTurnEnds, aTurnEnds_turn) == <<[out |-> "Rests"]>>

\* ends_pausing_2: stays
AgentsTurnEndsEndsPausing2_states == {"PAUSING"}
AgentsTurnEndsEndsPausing2_when(aTurnEnds, aTurnEnds_turn) ==
    /\ aTurnEnds.state = "PAUSING"
    /\ aTurnEnds_turn \in aTurnEnds.turns
    /\ Cardinality(aTurnEnds.turns) # 1
AgentsTurnEndsEndsPausing2_next(aTurnEnds, aTurnEnds_turn) ==
    [aTurnEnds EXCEPT !.turns = aTurnEnds.turns \ {aTurnEnds_turn}]

\* ends_pausing_ignore: ignored
AgentsTurnEndsEndsPausingIgnore_states == {"PAUSING"}
AgentsTurnEndsEndsPausingIgnore_when(aTurnEnds, aTurnEnds_turn) ==
    /\ aTurnEnds.state = "PAUSING"
    /\ ~((aTurnEnds_turn \in aTurnEnds.turns) /\ (Cardinality(aTurnEnds.turns) = 1))
    /\ ~((aTurnEnds_turn \in aTurnEnds.turns) /\ (Cardinality(aTurnEnds.turns) # 1))

\* ignore: ignored
AgentsTurnEndsIgnore_states == {"QUIET"}
AgentsTurnEndsIgnore_when(aTurnEnds, aTurnEnds_turn) == aTurnEnds.state = "QUIET"

\* the event as a whole
AgentsTurnEnds_states == {"FLOWING", "PAUSING", "CLOSED"}
AgentsTurnEnds_acts(aTurnEnds, aTurnEnds_turn) ==
    \/ AgentsTurnEndsEnds_when(aTurnEnds, aTurnEnds_turn)
    \/ AgentsTurnEndsEndsPausing_when(aTurnEnds, aTurnEnds_turn)
    \/ AgentsTurnEndsEndsPausing2_when(aTurnEnds, aTurnEnds_turn)
AgentsTurnEnds_step(aTurnEnds, aTurnEnds_turn) ==
    CASE AgentsTurnEndsEnds_when(aTurnEnds, aTurnEnds_turn) -> <<AgentsTurnEndsEnds_next(aTurnEnds, aTurnEnds_turn), <<>>>>
      [] AgentsTurnEndsEndsPausing_when(aTurnEnds, aTurnEnds_turn) -> <<AgentsTurnEndsEndsPausing_next(aTurnEnds, aTurnEnds_turn), AgentsTurnEndsEndsPausing_out(aTurnEnds, aTurnEnds_turn)>>
      [] AgentsTurnEndsEndsPausing2_when(aTurnEnds, aTurnEnds_turn) -> <<AgentsTurnEndsEndsPausing2_next(aTurnEnds, aTurnEnds_turn), <<>>>>
      [] OTHER -> <<>>
AgentsTurnEnds(aTurnEnds, aTurnEnds_turn) ==
    CASE AgentsTurnEndsEnds_when(aTurnEnds, aTurnEnds_turn) -> AgentsTurnEndsEnds_next(aTurnEnds, aTurnEnds_turn)
      [] AgentsTurnEndsEndsPausing_when(aTurnEnds, aTurnEnds_turn) -> AgentsTurnEndsEndsPausing_next(aTurnEnds, aTurnEnds_turn)
      [] AgentsTurnEndsEndsPausing2_when(aTurnEnds, aTurnEnds_turn) -> AgentsTurnEndsEndsPausing2_next(aTurnEnds, aTurnEnds_turn)
      [] OTHER -> aTurnEnds
AgentsTurnEnds_rule(aTurnEnds, aTurnEnds_turn) ==
    CASE AgentsTurnEndsEnds_when(aTurnEnds, aTurnEnds_turn) -> "ends"
      [] AgentsTurnEndsEndsPausing_when(aTurnEnds, aTurnEnds_turn) -> "ends_pausing"
      [] AgentsTurnEndsEndsPausing2_when(aTurnEnds, aTurnEnds_turn) -> "ends_pausing_2"
      [] AgentsTurnEndsEndsPausingIgnore_when(aTurnEnds, aTurnEnds_turn) -> "ends_pausing_ignore"
      [] AgentsTurnEndsIgnore_when(aTurnEnds, aTurnEnds_turn) -> "ignore"
AgentsTurnEnds_out(aTurnEnds, aTurnEnds_turn) ==
    CASE AgentsTurnEndsEndsPausing_when(aTurnEnds, aTurnEnds_turn) -> AgentsTurnEndsEndsPausing_out(aTurnEnds, aTurnEnds_turn)
      [] OTHER -> <<>>
AgentsTurnEnds_refused(aTurnEnds, aTurnEnds_turn) == FALSE


\* Pause() ---------------------------------------------------------------------------------------------------
\* No turn begins any more; those that run go on to their end.

\* pauses: goes to QUIET
AgentsPausePauses_states == {"FLOWING"}
AgentsPausePauses_when(aPause) ==
    /\ aPause.state = "FLOWING"
    /\ aPause.turns = {}
AgentsPausePauses_next(aPause) == [aPause EXCEPT !.state = "QUIET"]
AgentsPausePauses_out(aPause) == <<[out |-> "Rests"]>>

\* pauses_otherwise: goes to PAUSING
AgentsPausePausesOtherwise_states == {"FLOWING"}
AgentsPausePausesOtherwise_when(aPause) ==
    /\ aPause.state = "FLOWING"
    /\ aPause.turns # {}
AgentsPausePausesOtherwise_next(aPause) == [aPause EXCEPT !.state = "PAUSING"]

\* ignore: ignored
AgentsPauseIgnore_states == {"PAUSING", "QUIET"}
AgentsPauseIgnore_when(aPause) == aPause.state \in {"PAUSING", "QUIET"}

\* closed: refused closed
AgentsPauseClosed_states == {"CLOSED"}
AgentsPauseClosed_when(aPause) == aPause.state = "CLOSED"

\* the event as a whole
AgentsPause_states == {"FLOWING"}
AgentsPause_acts(aPause) ==
    \/ AgentsPausePauses_when(aPause)
    \/ AgentsPausePausesOtherwise_when(aPause)
AgentsPause_step(aPause) ==
    CASE AgentsPausePauses_when(aPause) -> <<AgentsPausePauses_next(aPause), AgentsPausePauses_out(aPause)>>
      [] AgentsPausePausesOtherwise_when(aPause) -> <<AgentsPausePausesOtherwise_next(aPause), <<>>>>
      [] OTHER -> <<>>
AgentsPause(aPause) ==
    CASE AgentsPausePauses_when(aPause) -> AgentsPausePauses_next(aPause)
      [] AgentsPausePausesOtherwise_when(aPause) -> AgentsPausePausesOtherwise_next(aPause)
      [] OTHER -> aPause
AgentsPause_rule(aPause) ==
    CASE AgentsPausePauses_when(aPause) -> "pauses"
      [] AgentsPausePausesOtherwise_when(aPause) -> "pauses_otherwise"
      [] AgentsPauseIgnore_when(aPause) -> "ignore"
      [] AgentsPauseClosed_when(aPause) -> "closed"
AgentsPause_out(aPause) ==
    CASE AgentsPausePauses_when(aPause) -> AgentsPausePauses_out(aPause)
      [] OTHER -> <<>>
AgentsPause_refused(aPause) == AgentsPauseClosed_when(aPause)


\* Resume() --------------------------------------------------------------------------------------------------
\* Turns may begin again.

\* ignore: ignored
AgentsResumeIgnore_states == {"FLOWING"}
AgentsResumeIgnore_when(aResume) == aResume.state = "FLOWING"

\* resumes: goes to FLOWING
AgentsResumeResumes_states == {"PAUSING", "QUIET"}
AgentsResumeResumes_when(aResume) == aResume.state \in {"PAUSING", "QUIET"}
AgentsResumeResumes_next(aResume) == [aResume EXCEPT !.state = "FLOWING"]
AgentsResumeResumes_out(aResume) == <<[out |-> "Flows"]>>

\* closed: refused closed
AgentsResumeClosed_states == {"CLOSED"}
AgentsResumeClosed_when(aResume) == aResume.state = "CLOSED"

\* the event as a whole
AgentsResume_states == {"PAUSING", "QUIET"}
AgentsResume_acts(aResume) == AgentsResumeResumes_when(aResume)
AgentsResume_step(aResume) ==
    CASE AgentsResumeResumes_when(aResume) -> <<AgentsResumeResumes_next(aResume), AgentsResumeResumes_out(aResume)>>
      [] OTHER -> <<>>
AgentsResume(aResume) ==
    CASE AgentsResumeResumes_when(aResume) -> AgentsResumeResumes_next(aResume)
      [] OTHER -> aResume
AgentsResume_rule(aResume) ==
    CASE AgentsResumeIgnore_when(aResume) -> "ignore"
      [] AgentsResumeResumes_when(aResume) -> "resumes"
      [] AgentsResumeClosed_when(aResume) -> "closed"
AgentsResume_out(aResume) ==
    CASE AgentsResumeResumes_when(aResume) -> AgentsResumeResumes_out(aResume)
      [] OTHER -> <<>>
AgentsResume_refused(aResume) == AgentsResumeClosed_when(aResume)


\* Close() ---------------------------------------------------------------------------------------------------
\* No turn begins again.

\* to_closed: goes to CLOSED
AgentsCloseToClosed_states == {"FLOWING", "PAUSING", "QUIET"}
AgentsCloseToClosed_when(aClose) == aClose.state \in {"FLOWING", "PAUSING", "QUIET"}
AgentsCloseToClosed_next(aClose) == [aClose EXCEPT !.state = "CLOSED"]

\* ignore: ignored
AgentsCloseIgnore_states == {"CLOSED"}
AgentsCloseIgnore_when(aClose) == aClose.state = "CLOSED"

\* the event as a whole
AgentsClose_states == {"FLOWING", "PAUSING", "QUIET"}
AgentsClose_acts(aClose) == AgentsCloseToClosed_when(aClose)
AgentsClose_step(aClose) ==
    CASE AgentsCloseToClosed_when(aClose) -> <<AgentsCloseToClosed_next(aClose), <<>>>>
      [] OTHER -> <<>>
AgentsClose(aClose) ==
    CASE AgentsCloseToClosed_when(aClose) -> AgentsCloseToClosed_next(aClose)
      [] OTHER -> aClose
AgentsClose_rule(aClose) ==
    CASE AgentsCloseToClosed_when(aClose) -> "to_closed"
      [] AgentsCloseIgnore_when(aClose) -> "ignore"
AgentsClose_out(aClose) == <<>>
AgentsClose_refused(aClose) == FALSE

================================================================================
