"""What a process shows of itself to who operates it: metrics, spans, and a log for programs."""
