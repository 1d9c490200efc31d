"""How anything is written: numbers and times, names of Spark's parts, HTML, and what is never written: secrets."""
