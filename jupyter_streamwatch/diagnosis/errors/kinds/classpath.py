"""Classes: a connector that is not there, libraries of another Scala, Spark or Java version, Hadoop on Windows."""

from __future__ import annotations

from jupyter_streamwatch.diagnosis.errors import cures, owners
from jupyter_streamwatch.diagnosis.errors.case import Case, Sign
from jupyter_streamwatch.diagnosis.errors.coordinates import connector_of, scala
from jupyter_streamwatch.diagnosis.errors.registry import KAFKA, Told, kind

# Maven Central had no Kafka connector of 4.3.0 while pip had that Spark; the one of 4.2.0 ran with it.
_NOT_YET = " If Maven Central has none of that version, the newest one before it may fit: try it."
_PACKAGES = "https://spark.apache.org/docs/latest/configuration.html#runtime-environment"


@kind(
    "windows-hadoop",
    Sign(says=r"nativeio\.NativeIO\$Windows"),
    Sign(says=r"exitCode=-10737415\d\d"),  # a library that winutils.exe needs
    Sign(says=r"winutils|HADOOP_HOME and hadoop\.home\.dir are unset|HADOOP_HOME is not set"),
    owner=owners.SYSTEM,
)
def windows_hadoop(case: Case) -> Told:
    """Tell what Hadoop needs on Windows."""
    return Told(
        title="Hadoop's own files for Windows are missing",
        why="On Windows Spark needs winutils.exe and hadoop.dll of its Hadoop version, and does not find them.",
        cures=(
            cures.after(
                r"Put both into a folder bin, set HADOOP_HOME to the folder around it, add %HADOOP_HOME%\bin to PATH,"
                " and start the kernel anew. WSL or a container needs none of this.",
                case.facts,
            ),
        ),
        link="https://cwiki.apache.org/confluence/display/HADOOP2/WindowsProblems",
    )


@kind(
    "java-version",
    Sign(names=("UnsupportedClassVersionError", "InaccessibleObjectException")),
    Sign(names=("IllegalAccessError",), says=r"module java\.base does not export"),
    Sign(says=r"sun\.misc\.Unsafe or java\.nio\.DirectByteBuffer|getSubject is (?:not supported|supported only)"),
    owner=owners.SYSTEM,
)
def java_version(case: Case) -> Told:
    """Tell that Java does not fit."""
    return Told(
        title="This Java version does not fit Spark or a library",
        why="A class needs a newer Java, or Java keeps parts of itself closed that this Spark or library uses.",
        cures=(
            cures.after(
                "Use a Java that this Spark supports (Spark 3.5: 8, 11, 17; Spark 4: 17, 21) in driver and executors,"
                " set by JAVA_HOME before the session starts.",
                case.facts,
            ),
        ),
        link="https://spark.apache.org/docs/latest/#downloading",
    )


@kind(
    "library-version",
    Sign(
        names=(
            "NoSuchMethodError",
            "NoSuchFieldError",
            "AbstractMethodError",
            "IncompatibleClassChangeError",
            "VerifyError",
            "InvalidClassException",
        )
    ),
    Sign(
        names=("IllegalAccessError", "ClassCastException"),
        says=r"cannot access|cannot assign instance of|SerializedLambda",
    ),
    Sign(
        names=("NoClassDefFoundError", "ClassNotFoundException"),
        says=r"^scala[./]|Logging\$class|\$class$"
        r"|StreamWriteSupport|ReadSupport|DataSourceV2$",
    ),
    owner=owners.SYSTEM,
)
def library_version(case: Case) -> Told:
    """Tell that a library is for another version."""
    connector = connector_of(case.cause.message, case.facts.sparkVersion)
    wanted = f" For {connector.name}: {connector.coordinates}." if connector else ""
    version = case.facts.sparkVersion
    this = f"Spark {version} (Scala {scala(version)} by default)" if version else "this Spark and its Scala"
    return Told(
        title="A library was built for another version of Spark, Scala or its own dependencies",
        why="A class has not the method, field or form that its caller was compiled for: two versions are mixed, on"
        " the classpath or between driver and executors.",
        cures=(
            cures.after(
                f"Take the library for {this}, the same on driver and executors, and only one version of it.{wanted}",
                case.facts,
            ),
        ),
        link=_PACKAGES,
    )


@kind(
    "connector-missing",
    Sign(names=("NoClassDefFoundError", "ClassNotFoundException")),
    Sign(
        conditions=(
            "DATA_SOURCE_NOT_FOUND",
            "KAFKA_DATA_SOURCE_NOT_ENABLED",
            "AVRO_DATA_SOURCE_NOT_ENABLED",
            "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER.ERROR_LOADING_CLASS",
        )
    ),
    Sign(says=r"Failed to find (?:the )?data ?source|No FileSystem for scheme|UnsupportedFileSystemException"),
    owner=owners.SYSTEM,
)
def connector_missing(case: Case) -> Told:
    """Tell which jar is missing, with its coordinates."""
    version = case.facts.sparkVersion
    text = "\n".join(cause.message for cause in case.chain.causes[case.place - 1 if case.place else 0 :])
    connector = connector_of(text, version)
    if connector is None:
        return Told(
            title="A class is not found: a library is missing",
            why="The class that the last cause names is on the classpath of neither the session nor, perhaps, the"
            " executors.",
            cures=(
                cures.after(
                    "Add the library that has it, with what it needs, to spark.jars.packages before the session"
                    " starts: a session that runs does not take it.",
                    case.facts,
                ),
            ),
            link=_PACKAGES,
        )
    note = " (it brings kafka-clients and spark-token-provider-kafka-0-10, too)" if connector.name == "Kafka" else ""
    return Told(
        title=f"A library is missing: the connector for {connector.name}",
        why="Its classes, or those that it needs, are not on the classpath: a single jar file does not bring the jars"
        " that it depends on.",
        cures=(
            cures.after(
                f"Give --packages or spark.jars.packages {connector.coordinates}{note} before the session starts: one"
                " that runs already does not take it."
                + ("" if connector.exact else " What stands in angle brackets is for you to fill in.")
                + (_NOT_YET if connector.coordinates.startswith("org.apache.spark:") else ""),
                case.facts,
            ),
        ),
        code=f'SparkSession.builder.config("spark.jars.packages", "{connector.coordinates}")'
        if connector.exact
        else None,
        link=KAFKA if connector.name == "Kafka" else _PACKAGES,
    )
