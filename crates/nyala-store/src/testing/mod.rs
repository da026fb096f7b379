// SPDX-License-Identifier: Apache-2.0

//! A disk and an ordered store in memory that crash, tear and fail on command.
