"""Machine: a copy of this machine to install packages on, gone when it is closed.

An overlay in a mount namespace of its own: reads see this machine's files, writes stay in memory. What a broker that
ran here left (`make run`) is not in the copy.
"""

import os
import shutil
import subprocess
import tempfile

from support.process import run, send, spawn, wait_until

CHANGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "overlay_changes.py")
SCRIPT = """set -e
umask 022
mount -t tmpfs -o mode=755 queen-test {base}
mkdir -p {base}/upper {base}/work {base}/root {base}/hidden/var/lib
mknod {base}/hidden/var/lib/queen c 0 0
mount -t overlay -o lowerdir={base}/hidden:/,upperdir={base}/upper,workdir={base}/work overlay {base}/root
mount -t proc proc {base}/root/proc
mount --rbind /dev {base}/root/dev
mount -t tmpfs tmpfs {base}/root/run
mount -t tmpfs -o mode=1777 tmpfs {base}/root/tmp
touch {base}/ready
exec sleep infinity
"""


def reason_to_skip():
    """Why this machine cannot be copied so, or None."""
    if os.geteuid() != 0:
        return "a mount namespace needs root"
    if shutil.which("dpkg-buildpackage") is None or shutil.which("dh") is None:
        return "dpkg-buildpackage or dh is not installed (Debian: dpkg-dev, debhelper)"
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", """
        mount -t tmpfs t /mnt && mkdir /mnt/u /mnt/w /mnt/m &&
        mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w o /mnt/m"""],
                           capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"this kernel refuses an overlay: {tried.stderr.strip()}"


class Machine:
    """Runs commands as root in the copy."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="queen-test-machine.", dir="/tmp")
        self._holder = spawn(["unshare", "--mount", "sh", "-c", SCRIPT.format(base=self.base)])
        wait_until(lambda: self._inside(["test", "-e", f"{self.base}/ready"], check=False)[0] == 0,
                   what="the copy of the machine")

    def _inside(self, argv, **options):
        return run(["nsenter", "--target", str(self._holder.pid), "--mount", *argv], **options)

    def command(self, argv, user="root"):
        """What runs `argv` in the copy, for `spawn`."""
        return ["nsenter", "--target", str(self._holder.pid), "--mount", "chroot", f"--userspec={user}:{user}",
                f"{self.base}/root", *argv]

    def run(self, *argv, check=True, user="root", timeout=120):
        """(exit code, output) of a command in the copy."""
        return run(self.command(argv, user), check=check, timeout=timeout,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})

    def has(self, path):
        """Is there such a file?"""
        return self.run("test", "-e", path, check=False)[0] == 0

    def put(self, path, source):
        """Copies a file of this machine into the copy."""
        with open(source, "rb") as file:
            done = subprocess.run(self.command(["tee", path]), stdin=file, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode == 0

    def changes(self):
        """Paths that differ from this machine, but for the notes that every installation leaves."""
        return self._inside(["/usr/bin/python3", CHANGES, f"{self.base}/upper"])[1].split()

    def close(self):
        """Ends it; its files go with the namespace."""
        send(self._holder.pid, 9)
        self._holder.wait(timeout=30)
        shutil.rmtree(self.base, ignore_errors=True)
