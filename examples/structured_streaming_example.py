"""Late rows, a watermark and three runs of one query, watched.

A windowed count with a watermark of 10 minutes reads three small files, each in a run of its own on one checkpoint.
What to see: batches 0 to 4 with 3, 0, 2, 0 and 1 rows; batches 1 and 3 carry no data, they follow a batch that raised
the watermark; the row of 12:04 comes after its window was closed and is dropped.

Run it with ``python examples/structured_streaming_example.py``, or paste it into a notebook cell.
"""

import json
import os
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import jupyter_streamwatch as sw

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
spark.conf.set("spark.sql.session.timeZone", "UTC")

watch = sw.watch(spark)

base = tempfile.mkdtemp()
events_dir, checkpoint = os.path.join(base, "events"), os.path.join(base, "checkpoint")
os.makedirs(events_dir)


def add_file(name, times):
    tmp = os.path.join(base, name)
    with open(tmp, "w") as f:
        f.writelines(json.dumps({"ts": t}) + "\n" for t in times)
    os.rename(tmp, os.path.join(events_dir, name))  # atomic move into the source


counts = (
    spark.readStream.schema("ts TIMESTAMP")
    .json(events_dir)
    .withWatermark("ts", "10 minutes")
    .groupBy(F.window("ts", "5 minutes"))
    .count()
)


def show_batch(batch_df, batch_id):
    rows = batch_df.select(F.date_format("window.start", "HH:mm").alias("start"), "count").collect()
    print("batch", batch_id, sorted((r.start, r["count"]) for r in rows))


def run_until_caught_up():
    query = (
        counts.writeStream.outputMode("update")
        .foreachBatch(show_batch)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


add_file("1.json", ["2026-09-15T12:01:00Z", "2026-09-15T12:02:00Z", "2026-09-15T12:07:00Z"])
run_until_caught_up()
add_file("2.json", ["2026-09-15T12:20:00Z", "2026-09-15T12:03:00Z"])
run_until_caught_up()
add_file("3.json", ["2026-09-15T12:04:00Z"])
query = run_until_caught_up()

history = watch.queries[query]
batches = history.batches
print(len(history.runs), "runs of one query")
for row in zip(
    batches["batchId"],
    batches["kind"],
    batches["numInputRows"],
    batches["eventTime.watermark"],
    batches["state.numRowsDroppedByWatermark"],
    strict=True,
):
    print("  batch %d  %-7s  rows %d  watermark %s  dropped %d" % row)  # noqa: UP031
