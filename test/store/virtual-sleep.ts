import { settle } from './settle.js'

/**
 * A function that sleeps in virtual time: whenever nothing else can continue, time moves to the
 * sleeper that is due next. It is for stores in memory, whose answers need no real time.
 */
export function virtualSleep(): (ms: number) => Promise<void> {
  let nowMs = 0
  let isMoving = false
  let sleepers: { readonly dueMs: number; readonly wake: () => void }[] = []

  const move = async () => {
    isMoving = true
    while (sleepers.length > 0) {
      await settle()
      nowMs = Math.min(...sleepers.map(({ dueMs }) => dueMs))
      const due = sleepers.filter(({ dueMs }) => dueMs === nowMs)
      sleepers = sleepers.filter(({ dueMs }) => dueMs > nowMs)
      for (const { wake } of due) wake()
    }
    isMoving = false
  }

  return (ms) =>
    new Promise((wake) => {
      sleepers.push({ dueMs: nowMs + ms, wake })
      if (!isMoving) void move()
    })
}
