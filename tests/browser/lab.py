"""A real Jupyter server, and a notebook driven through its page: for the browser tests and the headless demo."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.helpers import wait_until

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROOTS = ".sw-root"
PATIENCE = 120  # seconds that a step may take on a machine with other things to do


class Server:
    """A running Jupyter server of this environment, in a home of its own, with the network off for extensions."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.notebooks = home / "notebooks"
        self.notebooks.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        environment = {
            **os.environ,
            "HOME": str(home),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        arguments = [
            *(f"--ServerApp.{name}={value}" for name, value in _SERVER.items()),
            f"--ServerApp.port={port}",
            f"--ServerApp.root_dir={self.notebooks}",
            "--LabApp.extension_manager=readonly",
            "--LabApp.news_url=None",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--no-browser",
        ]
        news = home / "settings" / "@jupyterlab" / "apputils-extension"
        news.mkdir(parents=True)
        (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
        self.log = home / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", *arguments], env=environment, stdout=log, stderr=log
            )
        wait_until(self._answers, PATIENCE, f"the server does not answer; see {self.log}")

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/api/status", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()


_SERVER = {
    "token": "",
    "password": "",
    "ip": "127.0.0.1",
    "allow_root": "True",
    "open_browser": "False",
    "disable_check_xsrf": "True",
}


class Notebook:
    """A notebook open in a page of JupyterLab or Notebook 7."""

    def __init__(self, page: Any, server: Server, path: Path, kind: str) -> None:
        self.page = page
        self.path = path
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.set_default_navigation_timeout(PATIENCE * 1000)
        page.on("pageerror", self._note)
        self.url = (
            f"{server.url}/notebooks/{path.name}"
            if kind == "notebook"
            else f"{server.url}/lab/workspaces/{path.stem}/tree/{path.name}"
        )
        self.open()

    def _note(self, error: Any) -> None:
        """Keep errors of our code: a widget's module comes from a blob, and what it calls is below it on the stack."""
        if "blob:" in (error.stack or ""):
            self.errors.append(error.stack)

    def open(self) -> None:
        """Go to the notebook, also again: its kernel goes on."""
        self.page.goto(self.url)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function(
            "() => globalThis.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel"
            "?.connectionStatus === 'connected'"
        )

    def run(self, cell: int) -> None:
        """Start a cell; does not wait for its end."""
        self.page.evaluate(
            "cell => { const panel = jupyterapp.shell.currentWidget; panel.content.activeCellIndex = cell;"
            " void jupyterapp.commands.execute('notebook:run-cell'); }",
            cell,
        )

    def ran(self, cell: int, timeout: float = PATIENCE) -> None:
        """Run a cell and wait for its end."""
        before = self.count(cell)
        self.run(cell)
        self.page.wait_for_function(
            "([cell, before]) => { const model = jupyterapp.shell.currentWidget.content.widgets[cell].model;"
            " return model.executionState === 'idle' && model.executionCount !== null"
            " && model.executionCount !== before; }",
            arg=[cell, before],
            timeout=timeout * 1000,
        )

    def count(self, cell: int) -> Any:
        return self.page.evaluate(
            "cell => jupyterapp.shell.currentWidget.content.widgets[cell].model.executionCount", cell
        )

    def text(self, cell: int) -> str:
        """The text of a cell's outputs."""
        return str(
            self.page.evaluate(
                "cell => jupyterapp.shell.currentWidget.content.widgets[cell].outputArea.node.innerText", cell
            )
        )

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """Run a command of the application and wait for it."""
        return self.page.evaluate(
            "([name, args]) => jupyterapp.commands.execute(name, args).then(() => true)", [name, arguments or {}]
        )

    def save(self) -> dict[str, Any]:
        """Save, and return the file's content."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.save()")
        return dict(json.loads(self.path.read_text()))

    def restart(self) -> None:
        """Restart the kernel without a dialog."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()")

    def data(self, view: int = 0) -> dict[str, str]:
        """The marks of a dashboard: see Dashboard.mark in dashboard.ts."""
        return dict(self.page.locator(ROOTS).nth(view).evaluate("root => ({...root.dataset})"))

    def wait(self, condition: str, timeout: float = PATIENCE, view: int = 0) -> None:
        """Wait until a JavaScript condition on ``d`` (the marks of a dashboard) holds."""
        self.page.wait_for_function(
            "([roots, view, condition]) => { const d = document.querySelectorAll(roots)[view]?.dataset;"
            " return d && Function('d', `return ${condition}`)(d); }",
            arg=[ROOTS, view, condition],
            timeout=timeout * 1000,
        )
