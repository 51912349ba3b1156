"""What an audit found: the result, its headline, its tables, its page and its picture."""
