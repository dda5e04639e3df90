-- Where clears were broken off (only_group -1: to be removed), found without a look at what is hidden for other reasons.
CREATE INDEX hidden_messages_cleared ON queen.hidden_messages (partition_id) WHERE only_group = -1;
