------------------------ MODULE TraceSessionAffinity ------------------------
(* Whether each session of a logged run is a behaviour of SessionAffinity.

   Sessions share nothing that a rule of one reads, so each is a behaviour of
   its own: which says whose. Logs[which] is the sequence of its logged steps:
   of the session, and the births, forwards and ends of its leases. Each is
   matched with the action of the model that it names; what the log says of the
   session afterwards must be so. A turn's lease is the turn's number, an
   incarnation the pair of its replica and the number of its life.

   What nobody logs is left free, but is taken only where the next logged step
   needs it: a replica is replaced before something of its next life, or of its
   loss, is told; a request ends that was never admitted; a consumer has read.
   Of a killed session server the last steps may be missing: they are taken
   before its next life begins. Of a killed worker an admission may be missing:
   it is taken before the binding that it led to. *)
EXTENDS SessionAffinity, LoggedRun, TLC

(* The module LoggedRun, which is made from a trace, has
     Logs:    for each session, its logged steps
     Wanted:  which of them is to be shown
     Reached: a number of its explained steps: for showing how it comes to be reached *)

VARIABLES
  which,   \* the session
  at       \* how many of its steps are explained

TraceInit ==
  /\ Init
  /\ which \in 1..Len(Logs)
  /\ server.now.policy = Logs[which][1].policy
  /\ at = 1

\* What is logged of a record that became x.
AsLogged(e, x) == \A f \in DOMAIN e.set : x[f] = e.set[f]

OfServer(e) == server' # server /\ AsLogged(e, server'.now)

Begins(e) == BeginTurn /\ (e.goes # <<>> => lease'[e.lease].at = e.goes)

\* The admission of a lease was told, and it is where the log says.
AdmitAs(e) == lease[e.lease].does = "asked" /\ lease[e.lease].at = e.goes /\ Admit /\ lease'[e.lease].does # "asked"

\* A bound session's request runs as soon as it is admitted.
ForwardAs(e) ==
  \/ lease[e.lease].does = "admitted" /\ Forward /\ lease'[e.lease].does = "runs"
  \/ lease[e.lease].does = "runs" /\ UNCHANGED vars

\* One that its replica took along was over before anybody said so.
LeaseEndsAs(e) ==
  \/ lease[e.lease].does = "over" /\ UNCHANGED vars
  \/ lease[e.lease].does # "over" /\ LeaseEnds /\ lease'[e.lease].does = "over"

\* The next life of the server begins where the disk says. A store may have kept what need not be durable, too:
\* then it goes on as if it had not ended.
RestartAs(e) ==
  \/ AsLogged(e, server.disk) /\ Restart
  \/ AsLogged(e, server.now) /\ UNCHANGED vars

OfSession(e) ==
  \/ e.ev = "BeginTurn" /\ Begins(e)
  \/ e.ev = "Bound" /\ Bound
  \/ e.ev = "EndTurn" /\ EndTurn
  \/ e.ev = "Finish" /\ Finish
  \/ e.ev = "Retire" /\ Retire
  \/ e.ev = "Expire" /\ Expire
  \/ e.ev = "Lose" /\ Lose
  \/ e.ev = "Rebind" /\ Rebind
  \/ e.ev = "Take" /\ Take
  \/ e.ev = "Release" /\ Release
  \/ e.ev = "ConsumerLost" /\ ConsumerLost

Logged(e) ==
  \/ e.machine = "Session" /\ OfSession(e) /\ OfServer(e)
  \/ e.machine = "Session" /\ e.ev = "new" /\ RestartAs(e)
  \/ e.machine = "Lease" /\ e.ev = "new" /\ AdmitAs(e)
  \/ e.machine = "Lease" /\ e.ev = "Forward" /\ ForwardAs(e)
  \/ e.machine = "Lease" /\ e.ev = "over" /\ LeaseEndsAs(e)

-----------------------------------------------------------------------------
(* A step that nobody logged, for the sake of e, which is next. *)

\* The life that e tells of has begun, or, where it tells of its end, has ended.
ReplaceFor(e) ==
  /\ e.goes # <<>>
  /\ alive[e.goes[1]] < (IF e.ev = "Lose" THEN e.goes[2] + 1 ELSE e.goes[2])
  /\ Replace
  /\ \A r \in Replica \ {e.goes[1]} : alive'[r] = alive[r]

EndFor(e) == e.ev = "EndTurn" /\ e.lease \in DOMAIN lease /\ LeaseEnds /\ lease'[e.lease] # lease[e.lease]

ReadFor(e) == e.ev = "Release" /\ HasRead /\ consumer'[e.consumer] # consumer[e.consumer]

AdmitFor(e) == e.ev = "Bound" /\ e.lost /\ Admit

UnloggedFor(e) ==
  /\ e.ev = "new" /\ e.machine = "Session" /\ e.lost
  /\ BeginTurn \/ Admit \/ Bound \/ LeaseEnds \/ EndTurn \/ Finish \/ Retire \/ Expire \/ Take \/ HasRead \/ Release

Unlogged(e) == ReplaceFor(e) \/ EndFor(e) \/ ReadFor(e) \/ AdmitFor(e) \/ UnloggedFor(e)

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
