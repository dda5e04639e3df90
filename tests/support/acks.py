"""What a client sends for a message that it was given."""


def ack_of(message, status="completed", **more):
    """The acknowledgment, for /api/v1/ack or as one of a batch."""
    return {"transactionId": message["transactionId"], "partitionId": message["partitionId"],
            "leaseId": message["leaseId"], "status": status} | more
