//! A map whose values are made once: whoever asks first makes, whoever asks meanwhile waits, and nobody holds a lock while
//! a value is made.
//!
//! A failure goes to all who waited for it and leaves no entry, so that the next one tries again. If the maker panics,
//! one of those who wait takes its place.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};

/// Values by key, each made once.
pub(crate) struct Flights<K, V, E, S> {
    ready: RwLock<HashMap<K, V, S>>,
    flying: Mutex<Flying<K, V, E, S>>,
}

type Flying<K, V, E, S> = HashMap<K, Arc<Flight<V, E>>, S>;

/// A value that is being made.
struct Flight<V, E> {
    state: Mutex<State<V, E>>,
    landed: Condvar,
}

enum State<V, E> {
    Flying,
    Landed(Result<V, E>),
    Abandoned,
}

/// Makes a flight land as abandoned when its maker panics.
struct Landing<'a, K: Hash + Eq + Clone, V: Clone, E: Clone, S: BuildHasher> {
    flights: &'a Flights<K, V, E, S>,
    key: K,
    flight: Arc<Flight<V, E>>,
    result: Option<Result<V, E>>,
}

impl<K, V, E, S: Default> Default for Flights<K, V, E, S> {
    fn default() -> Flights<K, V, E, S> {
        Flights { ready: RwLock::default(), flying: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone, V: Clone, E: Clone, S: BuildHasher> Flights<K, V, E, S> {
    /// The value of a key, if it was made.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.ready.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.ready.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The value of a key, made by `make` unless it is there or somebody else is making it.
    pub(crate) fn get_or_make(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let flight = loop {
            let mut flying = self.flying.lock().unwrap_or_else(PoisonError::into_inner);
            // What has landed left the map of flights after it became ready.
            if let Some(value) = self.get(&key) {
                return Ok(value);
            }
            match flying.get(&key) {
                Some(other) => {
                    let other = Arc::clone(other);
                    drop(flying);
                    if let Some(result) = other.wait() {
                        return result;
                    }
                }
                None => {
                    let flight =
                        Arc::new(Flight { state: Mutex::new(State::Flying), landed: Condvar::new() });
                    flying.insert(key.clone(), Arc::clone(&flight));
                    break flight;
                }
            }
        };
        let mut landing = Landing { flights: self, key, flight, result: None };
        let result = make();
        landing.result = Some(result.clone());
        drop(landing);
        result
    }
}

impl<V: Clone, E: Clone> Flight<V, E> {
    /// Waits for the result; `None` if the maker panicked.
    fn wait(&self) -> Option<Result<V, E>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                State::Flying => state = self.landed.wait(state).unwrap_or_else(PoisonError::into_inner),
                State::Landed(result) => return Some(result.clone()),
                State::Abandoned => return None,
            }
        }
    }
}

impl<K: Hash + Eq + Clone, V: Clone, E: Clone, S: BuildHasher> Drop for Landing<'_, K, V, E, S> {
    fn drop(&mut self) {
        let result = self.result.take();
        if let Some(Ok(value)) = &result {
            let mut ready = self.flights.ready.write().unwrap_or_else(PoisonError::into_inner);
            ready.insert(self.key.clone(), value.clone());
        }
        self.flights.flying.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        let state = result.map_or(State::Abandoned, State::Landed);
        *self.flight.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.flight.landed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    type Numbers = Flights<u32, usize, String, RandomState>;

    #[test]
    fn many_threads_make_each_value_once() {
        let flights = Numbers::default();
        let made = AtomicUsize::new(0);
        let barrier = Barrier::new(16);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    barrier.wait();
                    for key in 0..50 {
                        let value = flights.get_or_make(key, || {
                            std::thread::yield_now();
                            Ok(made.fetch_add(1, Ordering::Relaxed))
                        });
                        assert_eq!(flights.get(&key), value.ok());
                    }
                });
            }
        });
        assert_eq!((made.into_inner(), flights.len()), (50, 50));
    }

    #[test]
    fn a_failure_reaches_all_who_waited_and_is_not_kept() {
        let flights = Numbers::default();
        let tries = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                flights.get_or_make(1, || {
                    // The second one asks while this one is flying: its `make` does not run.
                    while flights
                        .flying
                        .lock()
                        .expect("no panic")
                        .get(&1)
                        .is_none_or(|f| Arc::strong_count(f) < 3)
                    {
                        std::thread::yield_now();
                    }
                    tries.fetch_add(1, Ordering::Relaxed);
                    Err("no".to_owned())
                })
            });
            while flights.flying.lock().expect("no panic").is_empty() {
                std::thread::yield_now();
            }
            let second = flights.get_or_make(1, || {
                tries.fetch_add(1, Ordering::Relaxed);
                Ok(0)
            });
            assert_eq!(second, Err("no".to_owned()));
            assert_eq!(first.join().expect("no panic"), second);
        });
        assert_eq!(tries.into_inner(), 1);
        assert_eq!(flights.get_or_make(1, || Ok(7)), Ok(7));
    }

    #[test]
    fn a_panic_lets_the_next_one_try() {
        let flights = Numbers::default();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            flights.get_or_make(1, || -> Result<usize, String> { panic!("the maker fails") })
        }));
        assert!(panicked.is_err());
        assert_eq!(flights.get_or_make(1, || Ok(7)), Ok(7));
    }
}
