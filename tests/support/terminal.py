"""Terminal: a program in a tmux of its own, seen as the text on its screen."""

import os
import shlex
import subprocess
import tempfile

from .process import wait_until


class Terminal:
    """Runs `words` in a terminal of `columns` x `rows`; a shell then waits, so that the end can be seen."""

    def __init__(self, words, env, columns=110, rows=24):
        self.directory = tempfile.mkdtemp(prefix="queen-test-terminal.", dir="/tmp")
        self._socket = os.path.join(self.directory, "tmux")
        command = " ".join(map(shlex.quote, map(str, words))) + "; echo ended with $?; read -r forever"
        with open(os.path.join(self.directory, "tmux.conf"), "w", encoding="utf-8") as file:
            file.write("set -g status off\nset -g default-terminal screen-256color\n")
        self._tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", "-c", command, env=env)

    def _tmux(self, *words, env=None):
        done = subprocess.run(["tmux", "-f", os.path.join(self.directory, "tmux.conf"), "-S", self._socket, *words],
                              capture_output=True, text=True, timeout=30, check=False,
                              env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"} | (env or {}))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self, colours=False):
        """The text on the screen, without blank lines at its end; with its colours as escapes if asked."""
        return self._tmux("capture-pane", "-p", *(["-e"] if colours else [])).rstrip("\n") + "\n"

    def type(self, keys):
        """Sends keys, as tmux names them."""
        self._tmux("send-keys", keys)

    def wait_for(self, text, seconds=60):
        """The screen once `text` is on it, or `text(screen)` is true."""
        found = text if callable(text) else lambda screen: text in screen
        seen = [""]

        def shown():
            seen[0] = self.screen()
            return found(seen[0])
        try:
            wait_until(shown, seconds, f"{text!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{seen[0]}") from None
        return seen[0]

    def close(self):
        """Ends the program and the terminal."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, timeout=30, check=False)
        subprocess.run(["rm", "-rf", self.directory], check=False)
