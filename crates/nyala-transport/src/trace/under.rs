// SPDX-License-Identifier: Apache-2.0

//! Several requests of a client at once, each followed under an id of its own. Failure model: see the parent module.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

thread_local! {
    /// The id under which requests begin that this thread sends now; 0: under none.
    static UNDER: Cell<u64> = const { Cell::new(0) };
}

/// The id under which a request that this thread begins now is followed, whatever its tracer follows.
pub fn under() -> Option<u64> {
    Some(UNDER.get()).filter(|trace| *trace != 0)
}

/// Work whose requests are followed under an id, as far as it sends them itself: not what it leaves to other tasks.
#[derive(Debug)]
pub struct Under<F> {
    trace: u64,
    work: F,
}

impl<F: Future + Unpin> Under<F> {
    /// Under this id.
    pub fn new(trace: u64, work: F) -> Under<F> {
        Under { trace, work }
    }
}

/// Work for a task of its own, whose requests are followed under what [`under`] said where it was begun.
pub async fn carried<F: Future>(trace: Option<u64>, work: F) -> F::Output {
    Under::new(trace.unwrap_or(0), pin!(work)).await
}

/// Puts back what the thread sent under before, whatever happens.
struct Restore(u64);

impl Drop for Restore {
    fn drop(&mut self) {
        UNDER.set(self.0);
    }
}

impl<F: Future + Unpin> Future for Under<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _before = Restore(UNDER.replace(self.trace));
        Pin::new(&mut self.work).poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn each_piece_of_work_has_its_own_id_and_leaves_none_behind() {
        let mut context = Context::from_waker(Waker::noop());
        let asks = |times: u32| {
            let mut left = times;
            std::future::poll_fn(move |_| {
                left -= 1;
                if left == 0 { Poll::Ready(under()) } else { Poll::Pending }
            })
        };
        let (mut one, mut other) = (Under::new(7, asks(2)), Under::new(8, asks(2)));
        assert!(
            Pin::new(&mut one).poll(&mut context).is_pending() && Pin::new(&mut other).poll(&mut context).is_pending()
        );
        assert_eq!(under(), None);
        assert_eq!(Pin::new(&mut one).poll(&mut context), Poll::Ready(Some(7)));
        assert_eq!(Pin::new(&mut other).poll(&mut context), Poll::Ready(Some(8)));
        let mut outer = Under::new(9, Box::pin(async { (under(), Under::new(7, asks(1)).await, under()) }));
        assert_eq!(Pin::new(&mut outer).poll(&mut context), Poll::Ready((Some(9), Some(7), Some(9))));
        assert_eq!(under(), None);
        let mut task = Box::pin(carried(Some(5), asks(1)));
        assert_eq!(task.as_mut().poll(&mut context), Poll::Ready(Some(5)));
        assert_eq!(Box::pin(carried(None, asks(1))).as_mut().poll(&mut context), Poll::Ready(None));
    }
}
