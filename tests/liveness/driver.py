"""Scenes: a few queues of one namespace with random options, and consumers of several groups that wait. In each
act more of them begin to wait, a push comes, pops arrive just when what it brought is due, and then it is quiet:
whoever was left behind stays there to be seen. What nobody wanted is taken away before the next act."""

import asyncio
import itertools
import time
import urllib.parse

from .readiness import LIMIT, Queue, Waiter

GROUPS = ("__QUEUE_MODE__", "g1", "g2")
WAIT_MS = (2_000, 5_000)
DEFAULT_LEASE = 300.0
CONNECTIONS = 40


class Scene:
    """One namespace, from its first push to the end of the last wait for it. `crowded`: all want the same, which
    is due at one instant, and nothing happens to it after that which could wake them."""

    def __init__(self, client, readiness, rng, namespace, crowded=False):
        self.client, self.readiness, self.rng, self.namespace = client, readiness, rng, namespace
        self.crowded = crowded
        self.queues = []
        self.groups = rng.sample(GROUPS, rng.choice((1, 1, 2)))
        self.partitions = 100 if crowded else rng.choice((4, 60, 100))
        self.restless = not crowded and rng.random() < 0.15  # clients leave
        self.work = (0.0, 0.0)  # how long a consumer keeps what it got
        self.crowd = None  # (queue, group) that all pops of this act want, any partition of it
        self.ends = 0.0
        self.pushes = 0
        self.pops = 0
        self._tasks = set()

    async def run(self, seconds):
        """Returns when every pop of it was answered."""
        self.ends = time.monotonic() + seconds
        for number in range(self.rng.choice((1, 1, 2))):
            await self._configure(f"{self.namespace}.q{number}")
        await self.client.warm(CONNECTIONS)
        while not self._over():
            await self._act()
        while self._tasks:
            await self._settle(asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED))
        for queue in self.queues:
            self.readiness.forget(queue.name)

    async def _act(self):
        queue, partitions = self.rng.choice(self.queues), self._some_partitions()
        self.work = (1.5, 3.0) if self.crowded else self.rng.choice(((0.0, 0.4), (1.5, 3.0)))
        wanted = (queue.name, self.rng.choice(self.groups))
        self.crowd = wanted if self.crowded or self.rng.random() < 0.5 else None
        if self.crowded or self.rng.random() < 0.5:  # the first pop of a group finds all of it at once
            begin, end = await self._push(queue, partitions)
            await self._begin_to_wait()
        else:
            await self._begin_to_wait()
            begin, end = await self._push(queue, partitions)
        if self.crowded or self.rng.random() < 0.7:
            await self._arrive(begin - 0.001, end + 0.03)
        else:
            await asyncio.sleep(max(0.0, end - time.monotonic()))
        await self._quiet()
        if self.rng.random() < 0.1:
            await self._seek()
            await self._quiet()
        for queue, group in itertools.product(self.queues, self.groups):
            await self._drain(queue, group)
        await self._settle(asyncio.wait(self._tasks, timeout=0))

    async def _quiet(self):
        """So long that whoever is left behind has been so for longer than it may, also on a slow machine."""
        begin = time.monotonic()
        while time.monotonic() < begin + LIMIT + 0.2 + self.readiness.slack(begin - 0.5, time.monotonic()):
            await asyncio.sleep(0.05)

    async def _begin_to_wait(self):
        for _ in range(self.rng.randint(1, 12)):
            self._start(self._pop_once())
        await self._pause(0, self.rng.choice((0.005, 0.2)))

    async def _settle(self, waiting):
        """Raises what a task has raised."""
        done, _ = await waiting
        self._tasks -= done
        for task in done:
            task.result()

    def _start(self, work):
        self._tasks.add(asyncio.ensure_future(work))

    def _over(self):
        return time.monotonic() >= self.ends

    async def _pause(self, least, most):
        await asyncio.sleep(self.rng.uniform(least, most))

    async def _configure(self, name):
        rng = self.rng
        kind = rng.choice(("delay", "delay", "window") + (() if self.crowded else ("plain", "retry", "unborn")))
        queue = Queue(name, lease=rng.choice((1.0, 4.0)), delay=float(kind == "delay"), window=float(kind == "window"),
                      retry_delay=rng.choice((0.2, 0.5)) if kind == "retry" else 0.0)
        options = {"leaseTime": int(queue.lease), "delayedProcessing": int(queue.delay), "windowBuffer": int(queue.window),
                   "retryDelay": int(queue.retry_delay * 1000), "retryLimit": 1000}
        if kind == "unborn":  # its first push makes it
            queue.lease = DEFAULT_LEASE
        else:
            await self._ask("POST", "/api/v1/configure",
                            {"queue": name, "namespace": self.namespace, "options": options})
        self.readiness.add_queue(queue, self.groups)
        self.queues.append(queue)

    async def _ask(self, method, path, body=None, expected=(200, 201)):
        status, reply = await self.client.request(method, path, body)
        assert status in expected, f"{method} {path}: {status} {reply}"
        return reply

    # ---- producers

    def _some_partitions(self):
        return [f"p{number}" for number in range(self.partitions if self.crowded else self.rng.choice((1, 4, self.partitions)))]

    def _items(self, queue, partitions):
        """What a push of one message, or three, to each of them carries."""
        self.pushes += 1
        return [{"queue": queue.name, "partition": partition, "payload": 1,
                 "transactionId": f"{queue.name}-{self.pushes}-{partition}-{number}"}
                for partition in partitions for number in range(self.rng.choice((1, 3)))]

    def _push_sent(self, items):
        for place in sorted({(item["queue"], item["partition"]) for item in items}):
            self.readiness.push_sent(*place, time.monotonic())

    def _pushed(self, items, stored=True):
        by_place = {}
        for item in items:
            txns = by_place.setdefault((item["queue"], item["partition"]), [])
            if stored:
                txns.append(item["transactionId"])
        for place, txns in by_place.items():
            self.readiness.pushed(*place, txns, time.monotonic())

    async def _push(self, queue, partitions):
        """Returns between which times it becomes ready."""
        items = self._items(queue, partitions)
        self._push_sent(items)
        sent = time.monotonic()
        reply = await self._ask("POST", "/api/v1/push", {"items": items})
        assert {item["status"] for item in reply} == {"queued"}, reply
        self._pushed(items)
        later = queue.delay + queue.window
        return sent + later, time.monotonic() + later

    # ---- consumers

    async def _arrive(self, begin, end):
        """Pops come while something becomes due."""
        arrivals = self.rng.randint(20 if self.crowded else 5, 40)
        await asyncio.sleep(max(0.0, begin - time.monotonic()))
        for _ in range(arrivals):
            self._start(self._pop_once())
            await asyncio.sleep((end - begin) / arrivals)

    def _waiter(self):
        rng = self.rng
        if self.crowd:
            queue, group = self.crowd
            return Waiter(time.monotonic(), group, self.namespace, queue)
        group, queue = rng.choice(self.groups), rng.choice(self.queues).name
        kind = rng.choices(("any", "named", "namespace"), (6, 2, 2))[0]
        partition = rng.choice(self._some_partitions()) if kind == "named" else None
        return Waiter(time.monotonic(), group, self.namespace, None if kind == "namespace" else queue, partition)

    @staticmethod
    def _path(waiter):
        if waiter.queue is None:
            return "/api/v1/pop", {"namespace": waiter.namespace}
        path = f"/api/v1/pop/queue/{waiter.queue}"
        return (path, {}) if waiter.partition is None else (f"{path}/partition/{waiter.partition}", {})

    def _leaves(self, waiter):
        """Does its client go away, perhaps before it is answered? What it might have got is not judged for the
        length of a lease, so most of them ask for one partition only."""
        return self.rng.random() < (0.2 if self.restless or waiter.partition else 0.0)

    async def _pop_once(self):
        rng = self.rng
        self.pops += 1
        auto_ack = not self.crowded and rng.random() < 0.2
        options = {"wait": "true", "timeout": rng.randint(*WAIT_MS), "batch": rng.choice((1, 1, 2, 10)),
                   "partitions": 1 if self.crowded else rng.choice((1, 1, 3)), "autoAck": str(auto_ack).lower()}
        waiter = self._waiter()
        options["consumerGroup"] = waiter.group
        path, more = self._path(waiter)
        asking = self.client.request("GET", f"{path}?{urllib.parse.urlencode(options | more)}")
        self.readiness.wait(waiter)
        if not auto_ack and self._leaves(waiter):
            try:
                status, reply = await asyncio.wait_for(asking, rng.uniform(0.01, 1.5))
            except asyncio.TimeoutError:
                self.readiness.leave(waiter, time.monotonic())
                return
        else:
            status, reply = await asking
        now = time.monotonic()
        self.readiness.end(waiter, now)
        assert status in (200, 204), f"GET {path}: {status} {reply}"
        if status == 200:
            await self._take(reply, waiter.group, now)

    async def _drain(self, queue, group):
        """Takes what is ready now; nobody is parked for it."""
        query = f"batch=10000&partitions=1000&autoAck=true&consumerGroup={group}"
        while True:
            status, reply = await self.client.request("GET", f"/api/v1/pop/queue/{queue.name}?{query}")
            if status == 204:
                return
            assert status == 200, reply
            await self._take(reply, group, time.monotonic())

    async def _take(self, reply, group, now):
        by_lane = {}
        for message in reply["messages"]:
            lane = self.readiness.lane(message["queue"], message["partition"], group)
            by_lane.setdefault(lane, []).append(message)
        lease = reply["leaseId"] or None
        for lane, messages in by_lane.items():
            self.readiness.got(lane, [message["transactionId"] for message in messages], lease, now)
        if lease is None:
            return
        if self.rng.random() < 0.2:
            await self._extend(lease, by_lane)
        fate = self.rng.choice(("ack", "ack", "ack", "retry", "failed", "expire", "transaction", "mixed"))
        await self._pause(*self.work)
        if fate == "transaction":
            await self._transact(lease, group, by_lane)
        elif fate != "expire":
            await self._acknowledge(lease, group, by_lane, fate)

    async def _extend(self, lease, lanes):
        await self._pause(0, 0.9)
        self._asked(lanes)
        status, _ = await self.client.request("POST", f"/api/v1/lease/{lease}/extend", {"seconds": 1})
        now = time.monotonic()
        assert status in (200, 404), status
        for lane in lanes:
            if status == 200:
                self.readiness.answered(lane, now, until=now + 1.0)
            else:  # some of it may be held by it still, until it runs out
                self.readiness.answered(lane, now, pause=1.0)

    def _asked(self, lanes):
        for lane in lanes:
            self.readiness.asked(lane, time.monotonic())

    def _verdict(self, fate):
        if fate == "mixed":
            return self.rng.choice(("completed", "retry", "failed"))
        return {"ack": "completed"}.get(fate, fate)

    async def _acknowledge(self, lease, group, by_lane, fate):
        acks = [{"transactionId": message["transactionId"], "partitionId": message["partitionId"], "leaseId": lease,
                 "status": self._verdict(fate)} for messages in by_lane.values() for message in messages]
        self._asked(by_lane)
        reply = await self._ask("POST", "/api/v1/ack/batch", {"acknowledgments": acks, "consumerGroup": group})
        now = time.monotonic()
        outcomes = iter(zip(acks, reply))
        for lane, messages in by_lane.items():
            mine = [next(outcomes) for _ in messages]
            done = [ack["transactionId"] for ack, outcome in mine if outcome["success"] and ack["status"] == "completed"]
            failed = any(ack["status"] == "failed" for ack, _ in mine)
            self.readiness.answered(lane, now, done, ends=lease, pause=lane.queue.retry_delay if failed else 0.0)

    async def _transact(self, lease, group, by_lane):
        """Acknowledges, and pushes to partitions of the same namespace."""
        acks = [{"type": "ack", "transactionId": message["transactionId"], "partitionId": message["partitionId"],
                 "leaseId": lease, "consumerGroup": group} for messages in by_lane.values() for message in messages]
        items = self._items(self.rng.choice(self.queues), self._some_partitions()[:3])
        self._asked(by_lane)
        self._push_sent(items)
        reply = await self._ask("POST", "/api/v1/transaction", {"operations": acks + [{"type": "push", "items": items}]})
        now = time.monotonic()
        self._pushed(items, stored=reply["success"])
        for lane, messages in by_lane.items():
            done = [message["transactionId"] for message in messages] if reply["success"] else []
            self.readiness.answered(lane, now, done, ends=lease)

    # ---- administration

    async def _seek(self):
        queue, group = self.rng.choice(self.queues), self.rng.choice(self.groups)
        lanes = self.readiness.lanes_of(queue.name, group=group)
        self._asked(lanes)
        await self._ask("POST", f"/api/v1/consumer-groups/{group}/queues/{queue.name}/seek", {"offset": 0})
        for lane in lanes:
            self.readiness.sought(lane, time.monotonic())
