// The only code that talks to the external system: it carries calls out, and turns what goes wrong
// into answers.
import type { Json } from 'ipam-kit/crd/meta'
import type { ExternalFailure, ExternalResult } from 'ipam-kit/plan'
import { handleCalls } from 'ipam-kit/provider/claims'
import type { ExternalCaller } from 'ipam-kit/run'
import { ApiError, type FakeIpam } from './fake-ipam.js'
import { calls } from './provider.js'

export function callerOf(ipam: FakeIpam): ExternalCaller {
  return handleCalls(calls, {
    allocate: ({ network, name }, { key: marker }) =>
      answered(async () => {
        const request = { marker, network, name }
        let record = await ipam.allocate(request)
        if (record.network !== network) {
          // an earlier call with this key was answered after its pool had changed: that answer was
          // dropped
          await ipam.release(marker)
          record = await ipam.allocate(request)
        }
        return { address: record.address }
      }),
    release: (_, { key }) => answered(async () => ({ released: await ipam.release(key) })),
  })
}

async function answered<T>(ask: () => Promise<T>): Promise<ExternalResult<T>> {
  try {
    return { ok: true, value: await ask() }
  } catch (error) {
    if (error instanceof ApiError) return answerOf(error)
    throw error
  }
}

/**
 * As {@link callerOf}, and adopts records that are there already: for pools with addresses of their
 * own.
 */
export function poolCallerOf(ipam: FakeIpam): ExternalCaller {
  const call = callerOf(ipam)
  return async (asked) => {
    const { operation, key: marker, input } = asked
    try {
      if (operation === 'unmark') {
        await ipam.unmark(marker)
        return { ok: true, value: {} }
      }
      if (operation !== 'adopt') return await call(asked)
      const wanted = input as { readonly network: string; readonly name: string; readonly address: string }
      const { address } = await ipam.adopt({ ...wanted, marker })
      return { ok: true, value: { address } satisfies Json }
    } catch (error) {
      if (error instanceof ApiError) return answerOf(error)
      throw error
    }
  }
}

function answerOf({ code, message }: ApiError): { readonly ok: false; readonly failure: ExternalFailure } {
  switch (code) {
    case 'down':
    case 'timeout':
      return { ok: false, failure: { message, retryable: true } }
    case 'no-such-record':
    case 'marked':
      return { ok: false, failure: { message, retryable: true, retryAfterSeconds: 60 } }
    case 'network-full':
      return { ok: false, failure: { message, reason: 'PoolExhausted', retryable: true, retryAfterSeconds: 60 } }
    case 'no-such-network':
      return { ok: false, failure: { message, reason: 'PoolNotReady', retryable: false } }
  }
}
