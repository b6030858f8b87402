"""How an answer is judged: its cases, what it leaves in them, budgets, hints, stories, the bar."""
