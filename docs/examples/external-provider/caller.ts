// The only code that talks to the external system: it carries calls out, and turns what goes wrong
// into answers.
import type { Json } from 'ipam-kit/crd/meta'
import type { ExternalResult } from 'ipam-kit/plan'
import type { ExternalCaller } from 'ipam-kit/run'
import { ApiError, type FakeIpam } from './fake-ipam.js'

export function callerOf(ipam: FakeIpam): ExternalCaller {
  return async ({ operation, key, input }) => {
    try {
      if (operation === 'release') return { ok: true, value: { released: await ipam.release(key) } }
      const { network, name } = input as { readonly network: string; readonly name: string }
      const request = { marker: key, network, name }
      let record = await ipam.allocate(request)
      if (record.network !== network) {
        // an earlier call with this key was answered after its pool had changed: that answer was
        // dropped
        await ipam.release(key)
        record = await ipam.allocate(request)
      }
      const { address } = record
      return { ok: true, value: { address } satisfies Json }
    } catch (error) {
      if (error instanceof ApiError) return answerOf(error)
      throw error
    }
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

function answerOf({ code, message }: ApiError): ExternalResult {
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
