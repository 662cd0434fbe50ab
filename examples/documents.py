"""The approval of documents, as somebody had it in the `transitions` library, and the same mended.

    sluicegate check examples.documents:APPROVAL
    sluicegate check examples.documents:MENDED_APPROVAL

The configuration runs, and its tests may pass; the check names what is wrong with it, each with a run
that shows it. What conditions answer is not known here: each may say yes or no at any time.
"""

from typing import Any

APPROVAL: dict[str, Any] = {
    "states": [
        "draft",
        {"name": "review", "initial": "formal", "children": ["formal", "expert"]},
        "approved",
        "rejected",
        "escalated",
        "withdrawn",
        "parked",
        {"name": "published", "final": True},
    ],
    "initial": "draft",
    "transitions": [
        {"trigger": "submit", "source": "draft", "dest": "review", "before": "stamp"},
        {"trigger": "accept", "source": "review_formal", "dest": "review_expert"},
        # A document can be complete and contested: which of the two it is then depends on their order.
        {"trigger": "accept", "source": "review_expert", "dest": "approved", "conditions": "is_complete"},
        {"trigger": "accept", "source": "review_expert", "dest": "escalated", "conditions": "is_contested"},
        # From wherever in the review it is.
        {"trigger": "reject", "source": "review", "dest": "rejected", "after": "tell_author"},
        {"trigger": "revise", "source": "rejected", "dest": "draft"},
        {"trigger": "publish", "source": "approved", "dest": "published"},
        # Nobody can end that, only renew it.
        {"trigger": "park", "source": ["draft", "approved"], "dest": "parked"},
        {"trigger": "park", "source": "parked", "dest": "parked"},
        # Nothing leads to `withdrawn`.
        {"trigger": "revise", "source": "withdrawn", "dest": "draft"},
    ],
}

MENDED_APPROVAL: dict[str, Any] = {
    **APPROVAL,
    "transitions": [
        *(t for t in APPROVAL["transitions"] if t.get("conditions") != "is_contested"),
        {
            "trigger": "accept",
            "source": "review_expert",
            "dest": "escalated",
            "conditions": "is_contested",
            "unless": "is_complete",
        },
        {"trigger": "decide", "source": "escalated", "dest": "approved", "conditions": "is_in_favour"},
        {"trigger": "decide", "source": "escalated", "dest": "rejected"},
        {"trigger": "resume", "source": "parked", "dest": "draft"},
        {"trigger": "withdraw", "source": "draft", "dest": "withdrawn"},
    ],
}
