# Databricks notebook source
x = spark.readStream
# COMMAND ----------
# MAGIC %md
# MAGIC {
# MAGIC   "id" : "8ed2305d-f3fa-48e8-b9ea-a7234ad5cfbc",
# MAGIC   "runId" : "253d9e30-3ce1-468c-9c80-52e3ffec3fee",
# MAGIC   "name" : "orders",
# MAGIC   "timestamp" : "2025-05-15T03:25:22.942Z",
# MAGIC   "batchId" : 7,
# MAGIC   "batchDuration" : 420,
# MAGIC   "numInputRows" : 120,
# MAGIC   "inputRowsPerSecond" : 12.0,
# MAGIC   "processedRowsPerSecond" : 285.7142857142857,
# MAGIC   "durationMs" : {
# MAGIC     "addBatch" : 300,
# MAGIC     "commitOffsets" : 30,
# MAGIC     "getBatch" : 1,
# MAGIC     "latestOffset" : 9,
# MAGIC     "queryPlanning" : 20,
# MAGIC     "triggerExecution" : 420,
# MAGIC     "walCommit" : 28
# MAGIC   },
# MAGIC   "eventTime" : {},
# MAGIC   "stateOperators" : [],
# MAGIC   "sources" : [
# MAGIC     {
# MAGIC       "description" : "KafkaV2[Subscribe[payments]]",
# MAGIC       "startOffset" : {
# MAGIC         "payments" : {
# MAGIC           "0" : 16081,
# MAGIC           "1" : 16088
# MAGIC         }
# MAGIC       },
# MAGIC       "endOffset" : {
# MAGIC         "payments" : {
# MAGIC           "0" : 16141,
# MAGIC           "1" : 16148
# MAGIC         }
# MAGIC       },
# MAGIC       "latestOffset" : {
# MAGIC         "payments" : {
# MAGIC           "0" : 16141,
# MAGIC           "1" : 16148
# MAGIC         }
# MAGIC       },
# MAGIC       "numInputRows" : 120,
# MAGIC       "inputRowsPerSecond" : 12.0,
# MAGIC       "processedRowsPerSecond" : 285.7142857142857
# MAGIC     }
# MAGIC   ],
# MAGIC   "sink" : {
# MAGIC     "description" : "DeltaSink[s3://lake/silver]",
# MAGIC     "numOutputRows" : -1
# MAGIC   },
# MAGIC   "observedMetrics" : {}
# MAGIC }
# COMMAND ----------
x.stop()
