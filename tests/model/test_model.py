"""The model notices when a reply is not what the contract says. `make model` runs it for real."""

import pytest

from history.client import Client
from model.driver import Driver
from model.model import Violation

@pytest.fixture
def address(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    return broker.host, broker.port


class Saboteur:
    """A broker with one fault: a client that changes what is sent or answered."""

    def __init__(self, address, fault):
        self.client = Client(address)
        self.fault = fault
        self.done = 0
        self.last_pop = {}

    def request(self, method, path, body=None):
        """As Client.request, with the fault."""
        if self.fault == "lost nack" and "/ack" in path:
            for item in body.get("acknowledgments", [body]):
                if item.get("status") == "failed":
                    item = dict(item)
                    self.done += 1
                    body = {"acknowledgments": [
                        dict(ack, status="completed") if ack.get("status") == "failed" else ack
                        for ack in body.get("acknowledgments", [body])]}
                    path = "/api/v1/ack/batch"
        status, reply = self.client.request(method, path, body)
        if self.fault == "skipped message" and "/pop/" in path and status == 200:
            if len(reply["messages"]) > 1:
                self.done += 1
                del reply["messages"][0]
        if self.fault == "double lease" and "/pop/" in path:
            if status == 204 and path in self.last_pop:
                self.done += 1
                return self.last_pop[path]
            if status == 200:
                self.last_pop[path] = (status, reply)
        if self.fault == "duplicate accepted" and path.endswith("/push"):
            for outcome in reply:
                if outcome["status"] == "duplicate":
                    self.done += 1
                    outcome["status"] = "queued"
        if self.fault == "stale ack accepted" and "/ack" in path:
            for outcome in reply:
                if outcome["error"] == "Invalid or expired lease":
                    self.done += 1
                    outcome.update(success=True, error=None)
        return status, reply


@pytest.mark.parametrize("fault", ["skipped message", "double lease", "lost nack",
                                   "duplicate accepted", "stale ack accepted"])
def test_a_fault_is_found(address, fault):
    saboteur = Saboteur(address, fault)
    with pytest.raises(Violation):
        Driver([], 7, client=saboteur).run(30)
    assert saboteur.done > 0, "the violation was another one"
