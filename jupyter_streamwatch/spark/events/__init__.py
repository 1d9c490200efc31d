"""How events reach us: one bridge per Spark session, classic or Connect."""
