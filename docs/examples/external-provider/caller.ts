// The only code that talks to the external system: it carries calls out, and turns what goes wrong
// into answers.
import type { ExternalFailure, ExternalResult } from 'ipam-kit/plan'
import { handleCalls } from 'ipam-kit/provider/claims'
import type { Cloud, CloudAddress } from 'ipam-kit/provider/external'
import type { ExternalCaller } from 'ipam-kit/run'
import { ApiError, type FakeIpam, type HostRecord } from './fake-ipam.js'
import { FACTS } from './floating.js'
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

/** The product as a cloud, for pools with addresses of their own: see floating.ts. */
export function cloudOf(ipam: FakeIpam): Cloud {
  return {
    facts: FACTS,
    findNetwork: ({ network }) =>
      answered(async () => {
        const cidr = `${network}`
        await ipam.list(cidr)
        return { id: cidr, name: cidr }
      }),
    listAddresses: ({ network, markers, addresses }) =>
      answered(async () => {
        const isOurs = ({ marker }: HostRecord) => markers.some((each) => marker.startsWith(each))
        const records = (await ipam.list(network)).filter((it) => isOurs(it) || addresses.includes(it.address))
        // what others have marked is theirs to use
        return { addresses: records.map((it) => ({ ...it, isAttached: it.marker !== '' && !isOurs(it) })) }
      }),
    createAddress: ({ pool: { namespace, name }, network, marker }) =>
      answered(async () => addressOf(await ipam.create({ network, marker, name: `${namespace}.${name}` }))),
    markAddress: ({ id, marker }) => answered(async () => addressOf(await ipam.mark(id, marker))),
    deleteAddress: ({ id }) => answered(async () => ({ removed: await ipam.remove(id) })),
  }
}

const addressOf = (record: HostRecord): CloudAddress => ({ ...record, isAttached: false })

async function answered<T>(ask: () => Promise<T>): Promise<ExternalResult<T>> {
  try {
    return { ok: true, value: await ask() }
  } catch (error) {
    if (error instanceof ApiError) return answerOf(error)
    throw error
  }
}

function answerOf({ code, message }: ApiError): { readonly ok: false; readonly failure: ExternalFailure } {
  return { ok: false, failure: { message, ...FAILURES[code] } }
}

/**
 * What each error says of a call. Where nothing was done for certain, a pool need not look for what
 * was.
 */
const FAILURES: { readonly [code in ApiError['code']]: Omit<ExternalFailure, 'message'> } = {
  down: { retryable: true },
  timeout: { retryable: true },
  'no-such-record': { retryable: true, nothingDone: true, retryAfterSeconds: 60 },
  marked: { retryable: true, nothingDone: true, retryAfterSeconds: 60 },
  'network-full': { reason: 'PoolExhausted', retryable: true, nothingDone: true, retryAfterSeconds: 60 },
  'no-such-network': { reason: 'PoolNotReady', retryable: false, nothingDone: true },
}
