/** How tasks of a process that would meet at an object wait for each other. */
export interface TaskTurns {
  /** A task begins. */
  begin(): void
  /** A task has ended, however. */
  end(): void
  /** A task has written something, or has seen who was faster. */
  pass(): void
  /** Resolves when a task that would meet another one is to look again. */
  wait(): Promise<void>
}

/**
 * Turns for the tasks of a process that know the same ({@link RunTaskOptions.turns}): one that would write an object which another one of them is writing waits
 * until something was written, and looks again; of several the one that waits longest. So they do not make each other begin anew, and where others write too, each
 * process keeps to objects of its own as long as there are enough.
 *
 * Nobody waits for ever: of those that have begun there is always one that does not wait. One turn O(1).
 *
 * @example
 * const turns = taskTurns()
 * turns.begin()
 * await turns.wait()
 * turns.end()
 */
export function taskTurns(): TaskTurns {
  const waiting = new Queue<() => void>()
  let atWork = 0
  const pass = () => {
    const goOn = waiting.take()
    if (goOn === undefined) return
    atWork++
    goOn()
  }
  return {
    begin() {
      atWork++
    },
    end() {
      atWork--
      pass()
    },
    pass,
    async wait() {
      if (atWork <= 1) return
      atWork--
      await new Promise<void>((resolve) => void waiting.add(resolve))
    },
  }
}

/** First in, first out. All operations O(1) amortised. */
class Queue<T> {
  readonly #items = new Set<T>()

  add(item: T): void {
    this.#items.add(item)
  }

  take(): T | undefined {
    for (const item of this.#items) {
      this.#items.delete(item)
      return item
    }
    return undefined
  }
}
