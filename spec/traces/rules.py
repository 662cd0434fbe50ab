"""The rules between machines: what one machine's step says about what another has done.

Rules of this file:

- A literal table, one rule an entry, each with its name and why it holds. What a key means is said in
  `relations.py`, how a rule is asked in `judging.py`, what is logged in `docs/trace.md`.
- A rule holds for every run of the declared machines with a correct shell. It is about meaning, so it
  never asks where in the file a line stands.
- (incarnation, lease) names a lease in one life of a worker; lease ids are never used twice.
"""

from __future__ import annotations

from operator import attrgetter

from ...statemachines.machines import MACHINES
from .groups import (
    COMMANDS,
    answer,
    answered_by_ranks,
    answered_to_group,
    begun_by_group,
    begun_by_ranks,
    commanded_group,
    head_is_cut,
    published,
    rank_is_cut,
    version_said,
)
from .groups import begun as job_begun
from .judging import Rule, Select, always, births, counted, facts, leads, moments, needs, once, related, steps
from .lives import restorations
from .relations import (
    ANSWERS,
    CONTROL,
    OVER,
    WITHIN,
    answers,
    asked_for,
    asks,
    bound_at_published,
    causes,
    ends,
    epochs_of_one_term,
    is_receipt_true,
    its_gate_is_cut,
    labels,
    lease_here,
    lease_named,
    life,
    operation_named,
    proof,
    proves,
    published_grows,
    questions,
    receipts_and_losses,
    trainer_operation_named,
    turn,
    turns_over,
)

GATE_EVENTS, SYNC_EVENTS = (
    tuple(e.name for e in m.ir.events) for name in ("Gate", "Sync") for m in MACHINES if m.ir.name == name
)
TAKEN = "go stay"

born = births("Lease")
receipts = facts("Lease", "receipt")
begun = steps("Session", "BeginTurn", kinds=TAKEN)
admitted = steps("Gate", "Admit", kinds=TAKEN)
ending = Select("the end of a Lease", ends)
settled = Select("a Lease settled", lambda run: [e for e in run.selected(ending) if e.post.state == "SETTLED"])
ended_at_birthplace = Select(
    "the end of a Lease that was not restored", lambda run: [e for e in run.selected(ending) if not e.track.restored]
)
receipt_or_loss = Select("the receipt or the loss of its Lease", receipts_and_losses)
installing = steps("Gate", "Install", kinds="go")
sync_any = moments("Sync", "a Sync")
sync_asks = Select(
    "a Sync that asks for it", lambda run: [*steps("Sync", *SYNC_EVENTS).entries(run), *run.named("Sync", "catch_up")]
)
last_of_lease = Select("the last entry of a Lease", lambda run: (t.entries[-1] for t in run.of("Lease")))
term_users = Select(
    "a command of a term",
    lambda run: [
        *steps("Gate", "Claim", "Poison").entries(run),
        *commanded_group(run),
    ],
)
gate_moments = moments("Gate", "a Gate that is so")

# fmt: off
RULES: tuple[Rule, ...] = (
    # leases: what the gate lets in, and what comes of it
    needs("lease_is_admitted", born, admitted,
          by=life, of=lease_here,
          why="a lease is a request that the gate let in"),
    leads("admitted_is_leased", admitted, born,
          by=lease_here, of=life,
          lost=lambda run, e: e.track.killed,
          why="what the gate let in is accounted for"),
    once("admitted_once", admitted, by=lease_named,
         why="lease ids are never used twice"),
    always("lease_ends", last_of_lease,
           lambda run, e: None if e.track.killed else "" if e.post.state in OVER else f"it stays {e.post.state}",
           missing=True,
           why="every lease ends in settled or lost, unless its process was killed"),
    leads("settled_has_receipt", settled, receipts,
          by=life, of=life, lost=lambda run, e: e.track.killed,
          why="a settled lease has exactly one receipt"),
    once("one_receipt", receipts, by=lambda e: e.instance,
         why="a settled lease has exactly one receipt"),
    always("receipt_is_true", receipts, is_receipt_true,
           why="a receipt says what the lease was: its session, ending and version spans"),
    leads("over_leaves_gate", ended_at_birthplace, steps("Gate", "Settle", "GiveUp"),
          by=life, of=lease_here, lost=lambda run, e: e.track.killed,
          why="a lease that is over no longer holds its gate up"),
    needs("gate_settles_what_is_over", steps("Gate", "Settle"), receipt_or_loss,
          by=lease_here, of=life,
          why="the gate is drained only of leases whose receipt is stored"),
    needs("gate_orphans_what_is_unknown", steps("Gate", "Orphan", kinds=TAKEN), steps("Lease", "Unknown", kinds=TAKEN),
          by=lease_here, of=life, ordered=False,
          why="gate and lease are orphaned in one transaction"),
    needs("gate_suspends_what_is_frozen", steps("Gate", "Frozen", kinds=TAKEN), steps("Lease", "Frozen"),
          by=lambda e: (e.incarnation, e.event.lease) if e.event.lease in e.post.suspended else None,
          of=life, ordered=False,
          why="gate and lease are suspended in one transaction"),
    needs("lease_freezes_for_gate", steps("Lease", "Frozen", kinds=TAKEN), steps("Gate", "Frozen"),
          by=life, of=lease_here,
          ordered=False, lost=lambda run, e: e.track.killed,
          why="a lease is frozen only for a drain of its gate"),
    related("labels_are_true", labels,
            why="a token's label names the weights that its gate had for the lease, and versions only grow"),

    # sessions: where turns run
    needs("lease_has_turn", born, begun,
          by=attrgetter("post.session", "instance"), of=turn,
          lost=lambda run, e: run.cut("Session", e.post.session),
          why="a request is made in a turn of its session"),
    once("turn_leases", begun, by=lease_named,
         why="lease ids are never used twice"),
    needs("bound_where_admitted", steps("Session", "Bound", kinds=TAKEN), admitted,
          by=lambda e: [(e.event.replica, e.event.incarnation, lease) for lease in sorted(e.post.leases)],
          of=lambda e: (e.instance, e.incarnation, e.event.lease),
          lost=lambda run, e: run.cut("Gate", incarnation=e.event.incarnation),
          why="a session is bound to the incarnation that admitted its first lease"),
    related("bound_at_published", bound_at_published,
            why="sessions are bound only at a published version"),
    needs("forwarded_where_bound", steps("Lease", "Forward", kinds=TAKEN),
          moments("Session", "a Session in a turn with the lease, bound there", "TURN"),
          by=attrgetter("post.session", "instance", "incarnation"),
          of=lambda e: [(e.instance, lease, e.post.incarnation) for lease in e.post.leases],
          lost=lambda run, e: e.track.killed or run.cut("Session", e.post.session),
          why="a binding is durable before its lease is forwarded, and all turns of it run on its incarnation"),
    leads("turns_end", begun, steps("Session", "EndTurn", kinds=TAKEN),
          by=turn, of=turn,
          lost=lambda run, e: e.track.killed,
          why="every lease of a session ends, and retired means that none is unsettled"),
    related("turn_ends_with_lease", turns_over,
            why="a turn ends when its lease is settled or lost"),
    needs("lost_with_its_replica", steps("Session", "Lose", kinds=TAKEN),
          moments("Replica", "the death of that Replica", "DEAD"),
          by=lambda e: e.event.incarnation, of=lambda e: e.instance, lost=lambda run, e: run.cut("Replica"),
          why="a session is lost only with the incarnation that it was bound to"),

    # gates: who commands them, and what they answer
    always("operation_is_named", steps("Gate", *CONTROL), operation_named,
           why="a command is caused by the one operation that its id names"),
    always("trainer_operation_is_named", steps("Trainer", *COMMANDS), trainer_operation_named,
           why="a command is caused by the one operation that its id names"),
    once("operation_steps_once", steps("Gate", *CONTROL), by=lambda e: (e.instance, e.incarnation, e.cause),
         why="a repeated operation is answered from the store and is no step"),
    once("terms", births("Sync"), by=lambda e: e.post.term,
         why="a term is never shared"),
    needs("term_has_controller", term_users, sync_any,
          by=lambda e: e.event.term, of=lambda e: e.post.term, lost=lambda run, e: run.cut("Sync"),
          why="a term is a controller's"),
    related("epochs", epochs_of_one_term,
            why="epochs come from one counter"),
    always("catches_up_to_published", facts("Sync", "catch_up"),
           lambda run, e: "" if e.values["version"] == e.post.published else f"it has published {e.post.published}",
           why="what is left behind, or new, is brought to the published version"),
    needs("command_is_asked_for", steps("Gate", *WITHIN), sync_asks,
          by=asked_for, of=asks, lost=lambda run, e: run.cut("Sync"),
          why="a gate is commanded by the operation of its epoch, at its barrier, or by a catch-up of its replica"),
    needs("barrier_is_proved", steps("Sync", "Sealed", "Drained", "Installed", "Declined", "Closed"), gate_moments,
          by=proof, of=proves, lost=lambda run, e: run.cut("Gate", e.event.replica),
          why="a barrier is passed only when every member's gate is there"),
    needs("answer_has_question", steps("Gate", *ANSWERS), steps("Gate", *GATE_EVENTS), by=answers, of=questions,
          why="engine and timers answer what the gate asked"),
    related("published_grows", published_grows,
            why="published never falls, whichever controller rules"),

    # versions: made once, durable before they are installed
    always("manifest_while_publishing", facts("Trainer", "manifest"),
           lambda run, e: "" if e.post.publishing == e.values["version"] else f"it is publishing {e.post.publishing}",
           why="a manifest is of the version that is being published"),
    once("version_numbers", facts("Trainer", "manifest"), by=lambda e: e.values["version"],
         why="version numbers are used once"),
    needs("published_has_manifest", steps("Trainer", "Published", kinds=TAKEN), facts("Trainer", "manifest"),
          by=version_said, of=lambda e: (e.values["version"], e.values["digest"]),
          lost=lambda run, e: run.cut("Trainer"),
          why="a version is published with its manifest, and of ranks that have its weights"),
    needs("installs_what_is_durable", installing, published,
          by=lambda e: e.event.version, of=lambda e: e.post.version, lost=lambda run, e: run.cut("Trainer"),
          why="manifest and bytes are durable before the first install"),
    needs("digests_are_the_trainers", installing, facts("Trainer", "manifest"),
          by=lambda e: (e.event.version, frozenset(e.event.digests.values())),
          of=lambda e: (e.values["version"], frozenset((e.values["digest"],))),
          lost=lambda run, e: run.cut("Trainer"),
          why="every rank must hold what the trainer published"),

    # ranks of a trainer: what they are told, and what is said of them
    needs("rank_was_told", begun_by_ranks, begun_by_group, by=job_begun, of=job_begun, lost=head_is_cut,
          why="a rank works only on what its group was told to do"),
    needs("group_hears_ranks", answered_to_group, answered_by_ranks, by=answer, of=answer, lost=rank_is_cut,
          why="a job is over when every rank has answered it"),

    # replicas: what the controller believes of them
    needs("started_was_claimed", steps("Replica", "Started", kinds=TAKEN), steps("Gate", "Claim", kinds="stay ignore"),
          by=lambda e: e.instance, of=lambda e: e.incarnation, lost=its_gate_is_cut,
          why="a replica has started when its gate was claimed"),
    needs("synced_is_open", steps("Replica", "Synced", kinds=TAKEN),
          moments("Gate", "its Gate open", "OPEN"),
          by=attrgetter("instance", "event.version"), of=attrgetter("incarnation", "post.version"),
          lost=its_gate_is_cut,
          why="a replica serves after its gate was open at the version"),
    needs("synced_is_published", steps("Replica", "Synced", kinds=TAKEN),
          moments("Sync", "its Sync idle at the version", "IDLE"),
          by=lambda e: (e.incarnation, e.event.version), of=lambda e: (e.incarnation, e.post.published),
          why="a replica serves the version that its controller has published"),
    always("replica_versions_grow", steps("Replica", "Synced", kinds=TAKEN),
           lambda run, e: "" if e.event.version >= (e.before_it.version or 0) else f"it was at {e.before_it.version}",
           why="an incarnation goes on to newer versions only"),
    needs("poisoned_gate", steps("Replica", "Poisoned", kinds=TAKEN),
          moments("Gate", "its Gate poisoned", "POISONED"),
          by=lambda e: e.instance, of=lambda e: e.incarnation, lost=its_gate_is_cut,
          why="a replica is replaced for a poison that its gate has"),
    always("exited_is_known", steps("Replica", "Exited", kinds=TAKEN),
           lambda run, e: "" if e.instance in run.trace.incarnations else "no process of this incarnation ever began",
           why="an end is that of a process"),

    # lives and causes
    related("restored_as_it_was", restorations,
            why="a next life goes on from what was stored last, and only leases and sessions are"),
    counted("causes", causes,
            why="a step is caused by its own lease, question or operation"),
)
# fmt: on
