// SPDX-License-Identifier: Apache-2.0

//! What a metadata service exports.

use crate::metric::metrics;

metrics! {
    REQUESTS = Histogram "nyala_meta_request_duration_seconds" ["op"] "Requests by operation, and the time from taking one up to its reply, without the log write that all replies of a turn share";
    ERRORS = Counter "nyala_meta_request_errors" ["op"] "Replies that are errors, a name that does not exist among them";
    QUEUE_WAIT = Histogram "nyala_meta_queue_wait_duration_seconds" [] "Time that a request, when it is begun, has waited for the thread behind others that were read in the same turn of it, those of other connections among them";
    WAITING = Gauge "nyala_meta_waiting_requests" [] "Requests that wait for locks, delegations, the log or other servers";
    TASKS = Gauge "nyala_meta_tasks" [] "Operations under way that wait for something, those that no client asked for among them";
    CLIENTS = Counter "nyala_meta_client_requests" ["client"] "Requests by the client's address";
    USERS = Counter "nyala_meta_user_requests" ["uid"] "Requests by the user whose program made a client ask; - is what clients ask for by themselves";
    USER_CHANGES = Counter "nyala_meta_user_changes" ["uid"] "Requests by user that change the name space, a file's content or what a client has open or locked";
    SESSIONS = Gauge "nyala_meta_sessions" [] "Sessions of clients";
    DELEGATIONS = Gauge "nyala_meta_delegations" [] "Delegations that clients hold";
    REVOCATIONS = Counter "nyala_meta_revocations" [] "Delegations asked back";
    RECALLS = Gauge "nyala_meta_recalls_unanswered" [] "Delegations asked back that clients have not returned yet";
    RECALL_AGE = Gauge "nyala_meta_oldest_recall_seconds" [] "How long the client that was asked first has not returned one; 0 while none is asked";
    RECALLS_ANSWERED = Counter "nyala_meta_recalls_answered" [] "Delegations returned after they were asked back";
    RECALL_TIME = Counter "nyala_meta_recall_seconds" [] "Time from asking for them until they were returned, of all together";
    CONTENT = Counter "nyala_meta_lookups_with_content" [] "Look-ups whose reply brought the file's content along";
    COMMITS = Counter "nyala_meta_log_writes" [] "Writes of the log, each for all changes of a turn (group commit)";
    MEMORY = Gauge "nyala_meta_request_memory_bytes" ["purpose"] "Memory that requests occupy: of clients, of servers";
    MIRROR_RECORDS = Gauge "nyala_meta_mirror_last_record" ["group"] "Number of the last record in the log of the mirror group";
}
