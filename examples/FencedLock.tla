----------------------------- MODULE FencedLock -----------------------------
\* Clients, the lock and the store of lock.py. A client that has been granted the lock can write at any
\* later time, also long after its time is over: nobody can see from outside that it was paused.
EXTENDS Lock, FencedStore, PlainStore, Naturals, Sequences, FiniteSets

CONSTANTS
    Client,     \* those who want the lock
    Grants,     \* how often the lock is given, at most
    Fenced      \* whether the store asks for the token

VARIABLES
    lock,           \* the record of the lock
    store,          \* the record of the store
    token,          \* the token that each client believes to hold, 0 for none
    last            \* the last write that the store took: whose it was, and under which grant

Init ==
    /\ lock = LockInit
    /\ store = IF Fenced THEN FencedStoreInit ELSE PlainStoreInit
    /\ token = [c \in Client |-> 0]
    /\ last = [by |-> "nobody", token |-> 0]

Acquire(c) ==
    /\ lock.token < Grants
    /\ LockAcquireGrants_when(lock, c)
    /\ lock' = LockAcquire(lock, c)
    /\ token' = [token EXCEPT ![c] = LockAcquire_out(lock, c)[1].token]
    /\ UNCHANGED <<store, last>>

Expire ==
    /\ lock.state = "HELD"
    /\ lock' = LockExpire(lock)
    /\ UNCHANGED <<store, token, last>>

\* A client that believes to hold the lock writes.
Write(c) ==
    /\ token[c] # 0
    /\ ~(Fenced /\ FencedStoreWrite_refused(store, token[c]))
    /\ store' = IF Fenced THEN FencedStoreWrite(store, token[c]) ELSE PlainStoreWrite(store, token[c])
    /\ last' = [by |-> c, token |-> token[c]]
    /\ UNCHANGED <<lock, token>>

\* It is done: it gives the lock back, which may be somebody else's by then.
Release(c) ==
    /\ token[c] # 0
    /\ lock' = LockRelease(lock, c)
    /\ token' = [token EXCEPT ![c] = 0]
    /\ UNCHANGED <<store, last>>

Next ==
    \/ Expire
    \/ \E c \in Client : Acquire(c)
    \/ \E c \in Client : Write(c)
    \/ \E c \in Client : Release(c)

\* What was written under a newer grant is never overwritten under an older one.
NoneOverwritten == last.token = store.newest

=============================================================================
