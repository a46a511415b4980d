"""Clients that generators make of openapi.yaml, at work on a server: one of each family of generators, pinned.

Nothing that a generator makes is changed. Each program of clients/ ends with status 0 if its client created a study,
asked, told, listed and read."""

import os
import pathlib
import shutil

OPENAPI_GENERATOR = "7.17.0"
OAPI_CODEGEN = "v2.8.2"
RUNTIME = "v1.8.0"  # of oapi-codegen's clients
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"  # gets the jar from Maven Central
COPY_DEPENDENCIES = COPY + "-dependencies"


def typescript(run, kept, contract, here, url):
    tools = kept / "node_modules" / ".bin"
    yield run(tools / "openapi-typescript", contract, "--output", kept / "banditd.ts")
    shutil.copy(here / "clients" / "typescript.mts", kept)
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--typeRoots", "none", "--skipLibCheck"]
    yield run(tools / "tsc", *options, kept / "typescript.mts", cwd=kept)
    yield run("node", kept / "typescript.mjs", url, cwd=kept)


def openapi_python_client(run, kept, contract, here, url):
    made, programs = kept / "openapi-python-client", kept / "venv" / "bin"
    shutil.rmtree(made, ignore_errors=True)
    yield run(programs / "openapi-python-client", "generate", "--path", contract, "--output-path", made)
    yield run(programs / "python", here / "clients" / "openapi_python_client.py", made, url)


def _jar(run, kept):
    jar = kept / f"openapi-generator-cli-{OPENAPI_GENERATOR}.jar"
    if jar.exists():
        return jar, (0, [])
    artifact = f"org.openapitools:openapi-generator-cli:{OPENAPI_GENERATOR}"
    return jar, run("mvn", "-q", COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={kept}", cwd=kept)


def _generate(run, kept, contract, language, *options):
    jar, fetched = _jar(run, kept)
    made = kept / f"openapi-generator-{language}"
    shutil.rmtree(made, ignore_errors=True)
    yield fetched
    yield run("java", "-jar", jar, "generate", "-g", language, "-i", contract, "-o", made, *options)


def openapi_generator_python(run, kept, contract, here, url):
    yield from _generate(run, kept, contract, "python")
    made = kept / "openapi-generator-python"
    yield run(kept / "venv" / "bin" / "python", here / "clients" / "openapi_generator.py", made, url)


def _go(run, folder, url):
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    yield run("go", "mod", "tidy", cwd=folder, env=environment)
    yield run("go", "run", ".", url, cwd=folder, env=environment)


def openapi_generator_go(run, kept, contract, here, url):
    # Without the lookup, its clients try all members of a union, and do not look at `type`.
    yield from _generate(run, kept, contract, "go", "--additional-properties=useOneOfDiscriminatorLookup=true")
    folder = _emptied(kept / "use-openapi-generator-go")
    shutil.copy(here / "clients" / "openapi_generator.go", folder / "main.go")
    module = "github.com/GIT_USER_ID/GIT_REPO_ID"
    (folder / "go.mod").write_text(f"module use\ngo 1.23\nrequire {module} v0.0.0\nreplace {module} => ../openapi-generator-go\n")
    yield from _go(run, folder, url)


def openapi_generator_java(run, kept, contract, here, url):
    # Jersey's clients alone compile with unions that have lists, and take a null for a union. Without null for what is not
    # given, they send empty lists of everything.
    options = "library=jersey3,useOneOfDiscriminatorLookup=true,containerDefaultToNull=true"
    yield from _generate(run, kept, contract, "java", f"--additional-properties={options}")
    folder = kept / "openapi-generator-java"
    skipped = ["-DskipTests", "-Dmaven.javadoc.skip=true", "-Dmaven.source.skip=true"]
    yield run("mvn", "-q", "-B", *skipped, "package", COPY_DEPENDENCIES, "-DoutputDirectory=target/lib", cwd=folder)
    yield run("java", "-cp", "target/classes:target/lib/*", here / "clients" / "OpenapiGenerator.java", url, cwd=folder)


def oapi_codegen(run, kept, contract, here, url):
    tool = kept / "oapi-codegen"
    if not tool.exists():
        package = f"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@{OAPI_CODEGEN}"
        yield run("go", "install", package, env={**os.environ, "GOBIN": str(kept)})
    folder = _emptied(kept / "use-oapi-codegen")
    (folder / "banditd").mkdir()
    made = folder / "banditd" / "client.go"
    yield run(tool, "-generate", "types,client", "-package", "banditd", "-o", made, contract)
    shutil.copy(here / "clients" / "oapi_codegen.go", folder / "main.go")
    (folder / "go.mod").write_text(f"module use\ngo 1.23\nrequire github.com/oapi-codegen/runtime {RUNTIME}\n")
    yield from _go(run, folder, url)


def _emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


FAMILIES = {  # -> the programs that each needs
    typescript: ["node"],
    openapi_python_client: [],
    openapi_generator_python: ["java", "mvn"],
    openapi_generator_java: ["java", "mvn"],
    openapi_generator_go: ["java", "mvn", "go"],
    oapi_codegen: ["go"],
}


def check_all(emitter, run, kept, contract, url):
    here = pathlib.Path(__file__).resolve().parent
    for family, needed in FAMILIES.items():
        name = f"{family.__name__}: a client creates, asks, tells, lists and reads"
        missing = [program for program in needed if not shutil.which(program)]
        if missing:
            emitter.skip(name, f"needs {', '.join(missing)} (.ci/deps contract)")
            continue
        for status, output in family(run, kept, contract, here, url):
            if status != 0:
                emitter.check(False, name, output[-40:])
                break
        else:
            emitter.check(True, name)
