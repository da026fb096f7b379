// SPDX-License-Identifier: Apache-2.0

//! Operations on the stripes of a set, as values.

use crate::checkpoint::checkpoint;
use crate::code::StripCode;
use crate::error::StripeError;
use crate::geometry::Geometry;
use crate::ids::{ObjectId, StripeId, StripePart};
use crate::level::GeometryError;
use crate::recover::Recovery;
use crate::recovered::Recovered;
use crate::stripe::outcome::{ReadOutcome, Repaired, Use, WriteMode, Written};
use crate::stripe::{self, Stripe};
use crate::task::{Operation, Port};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// A geometry and its code.
#[derive(Clone, Debug)]
pub struct Volume {
    geometry: Arc<Geometry>,
    code: Arc<StripCode>,
}

impl Volume {
    /// Of a set with this geometry.
    pub fn new(geometry: Geometry) -> Result<Volume, GeometryError> {
        let code = StripCode::new(&geometry)?;
        Ok(Volume { geometry: Arc::new(geometry), code: Arc::new(code) })
    }

    /// The geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What the members are good for, by column of a stripe.
    fn stripe(&self, port: Port, id: StripeId, of_member: impl Fn(usize) -> Use) -> Stripe {
        let uses = (0..self.geometry.width()).map(|column| of_member(self.geometry.member(id, column))).collect();
        Stripe::new(port, self.geometry.clone(), self.code.clone(), id, uses)
    }

    /// Reads a part of a stripe. `of_member` says what each member is good for, for this stripe.
    pub fn read(
        &self,
        part: &StripePart,
        of_member: impl Fn(usize) -> Use,
    ) -> Operation<Result<ReadOutcome, StripeError>> {
        Operation::new(|port| stripe::read(self.stripe(port, part.stripe, of_member), part.bytes.clone()))
    }

    /// Writes a part of a stripe.
    pub fn write(
        &self,
        part: &StripePart,
        bytes: Bytes,
        mode: WriteMode,
        of_member: impl Fn(usize) -> Use,
    ) -> Operation<Result<Written, StripeError>> {
        Operation::new(|port| stripe::write(self.stripe(port, part.stripe, of_member), mode, part.bytes.clone(), bytes))
    }

    /// Compares all of a stripe, writes anew what is wrong, and gives the members `rebuild` what they have missed.
    pub fn repair(
        &self,
        id: StripeId,
        number: u64,
        rebuild: Vec<usize>,
        of_member: impl Fn(usize) -> Use,
    ) -> Operation<Result<Repaired, StripeError>> {
        Operation::new(|port| stripe::repair(self.stripe(port, id, of_member), number, rebuild))
    }

    /// Removes whole stripes of an object; all that follow if `stripes` ends with the largest number. Gives the members that failed.
    pub fn discard(
        &self,
        object: ObjectId,
        stripes: Range<u64>,
        number: u64,
        of_member: impl Fn(usize) -> Use,
    ) -> Operation<Result<Vec<usize>, StripeError>> {
        let uses = (0..self.geometry.drives()).map(of_member).collect();
        Operation::new(|port| stripe::discard(port, self.geometry.clone(), uses, number, object, stripes))
    }

    /// Removes from a member that is there and behind what [`Volume::discard`] with this number has removed from the good ones, so that it need
    /// not be looked at again; whether the member did that.
    pub fn discard_behind(&self, member: usize, object: ObjectId, stripes: Range<u64>, number: u64) -> Operation<bool> {
        Operation::new(|port| stripe::erase_behind(port, self.geometry.clone(), member, number, object, stripes))
    }

    /// Brings the logs of all members to an end. `outdated` are those that are there and do not count.
    pub fn recover(
        &self,
        outdated: Vec<usize>,
        of_member: impl Fn(usize) -> Use,
    ) -> Operation<Result<Recovered, StripeError>> {
        let uses = (0..self.geometry.drives()).map(of_member).collect();
        let (geometry, code) = (self.geometry.clone(), self.code.clone());
        Operation::new(|port| Recovery { port, geometry, code, uses, outdated }.run())
    }

    /// Makes everything up to operation `number` durable on these members and frees their logs of `numbers`. No operation up to `number` may be
    /// under way, and stripes that were open before are open no longer.
    pub fn checkpoint(
        &self,
        members: Vec<usize>,
        numbers: Vec<u64>,
        number: u64,
    ) -> Operation<Result<(), StripeError>> {
        Operation::new(|port| checkpoint(port, members, numbers, number))
    }
}
