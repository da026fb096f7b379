// SPDX-License-Identifier: Apache-2.0

//! Requests that come twice, and clients that are silent.

use super::*;

#[test]
fn every_request_is_done_once() {
    let mut clients = Clients::default();
    assert_eq!(clients.admit(1, 5, 5, 0), Admission::New);
    assert_eq!(clients.admit(2, 5, 5, 0), Admission::New, "another client's");
    assert_eq!(clients.admit(1, 5, 5, 0), Admission::Running);
    clients.done(1, 5, Answer::Done);
    assert_eq!(clients.admit(1, 5, 5, 0), Admission::Done(Answer::Done));
    assert_eq!(clients.admit(1, 6, 6, 0), Admission::New);
    assert_eq!(clients.admit(1, 5, 5, 0), Admission::Void, "an old copy");
}

#[test]
fn a_window_is_bounded() {
    let mut clients = Clients::default();
    let max = MAX_WINDOW as u64;
    assert!((0..max).all(|seq| clients.admit(1, seq, 0, 0) == Admission::New));
    assert_eq!(clients.admit(1, max, 0, 0), Admission::Void);
    assert_eq!(clients.admit(1, max, 1, 0), Admission::New);
}

#[test]
fn silent_clients_are_forgotten_but_not_what_is_under_way() {
    let mut clients = Clients::default();
    clients.admit(1, 1, 1, 0);
    clients.admit(2, 1, 1, 0);
    clients.done(2, 1, Answer::Done);
    clients.note(Origin { client: 3, seq: 1, lowest: 1 }, 50);
    clients.expire(99, 100, 10);
    assert_eq!(clients.notes().len(), 2, "nobody was silent for so long");
    clients.expire(100, 100, 10);
    assert_eq!(clients.notes(), [Origin { client: 3, seq: 1, lowest: 1 }]);
    assert_eq!(clients.admit(1, 1, 1, 100), Admission::Running, "it is still being done");
    assert_eq!(clients.admit(2, 1, 1, 100), Admission::New);
}

#[test]
fn the_number_of_clients_is_bounded() {
    let mut clients = Clients::default();
    clients.admit(0, 1, 1, 0);
    for client in 1..100 {
        clients.note(Origin { client, seq: 1, lowest: 1 }, client);
    }
    clients.expire(100, 1000, 10);
    let left: Vec<u64> = clients.notes().iter().map(|origin| origin.client).collect();
    assert_eq!(left, (91..100).collect::<Vec<_>>(), "the newest nine, and the one with something under way");
}
