"""Messages whose payload tells their transactionId: pushed, and popped as a client gets them."""


def push(broker, queue, payloads):
    """Payload n has the transactionId tn. All of them are stored."""
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "payload": payload, "transactionId": f"t{payload}"} for payload in payloads]})
    assert reply.status == 201 and all(item["status"] == "queued" for item in reply.json()), reply


def pop(broker, queue, **options):
    """The messages; none for a 204."""
    query = "&".join(f"{name}={value}" for name, value in options.items())
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}")
    assert reply.status in (200, 204), reply
    return reply.json()["messages"] if reply.status == 200 else []
