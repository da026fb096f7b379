// SPDX-License-Identifier: Apache-2.0

//! What structures and enums consist of, said once more: samples are made from it and the document is compared with
//! it. A new field or variant does not compile until it is said here.

/// A structure's fields, or an enum's variants with theirs. The number of a field is its place.
pub trait Shape {
    const NAME: &'static str;
    /// Number, name, fields. A structure is one row with number 0.
    const ROWS: &'static [(u8, &'static str, &'static [&'static str])];
}

/// An enum whose variants can be made one by one.
pub trait Variants: Shape + Sized {
    fn make(number: u8, tape: &mut crate::tape::Tape) -> Self;
    /// The number of this value's variant.
    fn number(&self) -> u8;
}

/// `Type { field, field }`, fields in the order of their numbers.
macro_rules! structures {
    ($($type:ident { $($field:ident),* })*) => {
        $(impl crate::shapes::Shape for $type {
            const NAME: &'static str = stringify!($type);
            const ROWS: &'static [(u8, &'static str, &'static [&'static str])] =
                &[(0, stringify!($type), &[$(stringify!($field)),*])];
        }

        impl crate::tape::Sample for $type {
            fn sample(tape: &mut crate::tape::Tape) -> Self {
                $type { $($field: tape.take()),* }
            }
        })*
    };
}

/// `Type { number Variant { field } }`; a tuple's fields are 0, 1 and so on.
macro_rules! enums {
    ($($type:ident { $($number:literal $variant:ident { $($field:tt),* })* })*) => {
        $(impl crate::shapes::Shape for $type {
            const NAME: &'static str = stringify!($type);
            const ROWS: &'static [(u8, &'static str, &'static [&'static str])] =
                &[$(($number, stringify!($variant), &[$(stringify!($field)),*])),*];
        }

        impl crate::shapes::Variants for $type {
            fn make(number: u8, tape: &mut crate::tape::Tape) -> Self {
                let _ = &tape;
                match number {
                    $($number => $type::$variant { $($field: tape.take()),* },)*
                    other => panic!("{} has no variant {other}", stringify!($type)),
                }
            }

            fn number(&self) -> u8 {
                match self {
                    $($type::$variant { .. } => $number,)*
                }
            }
        }

        impl crate::tape::Sample for $type {
            fn sample(tape: &mut crate::tape::Tape) -> Self {
                use crate::shapes::{Shape, Variants};
                let rows = <$type as Shape>::ROWS;
                let at = usize::from(tape.byte()) % rows.len();
                <$type as Variants>::make(rows[at].0, tape)
            }
        })*
    };
}

pub(crate) use {enums, structures};
