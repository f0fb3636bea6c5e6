/**
 * Resolves when no promise is left that can continue without a timer or a server. It takes turns of
 * the event loop, not time: how busy the machine is makes no difference.
 */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
}
