import { Address, Prefix } from 'ipam-kit/cidr'
import { IPPool, readRows } from 'ipam-kit/crd/whereabouts'
import { type Case, type Objects, statesOf } from '../differences.js'

/** A call of the plugin in a step of a case. */
export interface StepCall {
  readonly step: number
  readonly command: string
  readonly container: string
  readonly ifname: string
  readonly pod: string
  /** The whole command line, with the environment and the configuration. */
  readonly text: string
  readonly exit: number | undefined
  /** Addresses of the answer, as `10.0.0.1/24`. */
  readonly addresses: readonly string[]
  readonly stdout: string
}

interface Ran {
  readonly exit?: number
  readonly stdout?: string
}

/** The calls of a case, one for each that its text has: a loop counts once. */
export function callsIn({ steps }: Case): readonly StepCall[] {
  return steps.flatMap(({ step, response }, index) => {
    const { run } = step as { readonly run?: string }
    if (run === undefined) return []
    const { exit, stdout = '' } = (response ?? {}) as Ran
    return [...run.matchAll(/\bcni ([A-Z]+) (\S+) (\S+) (\S+)/g)].map(
      ([, command = '', container = '', ifname = '', pod = '']): StepCall => ({
        ...{ step: index, command, container, ifname, pod, text: run, exit, stdout },
        addresses: [...stdout.matchAll(/"(?:address|ip)": *"([^"]+\/\d+)"/g)].map(([, address = '']) => address),
      }),
    )
  })
}

/** The pools of a state, each with its object. */
export function poolsIn(objects: Objects): readonly { readonly name: string; readonly pool: IPPool }[] {
  return Object.entries(objects).flatMap(([key, object]) => {
    if (!key.startsWith('IPPool/')) return []
    const { metadata, ...others } = object as { readonly metadata: object }
    const read = IPPool.safeParse({ ...others, metadata: { namespace: 'any', ...metadata } })
    return read.ok ? [{ name: key.slice('IPPool/'.length), pool: read.value }] : []
  })
}

/** The pools of all states that steps have made. */
export function madePools({ steps }: Case): readonly IPPool[] {
  return steps.flatMap(({ step }) => {
    const all = [step, ...((step as { readonly batch?: readonly unknown[] }).batch ?? [])]
    return all.flatMap((each) => {
      const { create } = each as { readonly create?: { readonly kind: string } }
      const read = create?.kind === 'IPPool' ? IPPool.safeParse(create) : undefined
      return read?.ok ? [read.value] : []
    })
  })
}

/** The keys of rows that any state of a case has. */
export function keysIn(one: Case): readonly { readonly key: string; readonly pool: IPPool }[] {
  const seen = statesOf(one).flatMap((objects) => poolsIn(objects).map(({ pool }) => pool))
  return [...seen, ...madePools(one)].flatMap((pool) =>
    Object.keys(pool.spec.allocations ?? {}).map((key) => ({ key, pool })),
  )
}

/**
 * What is wrong at the end of a case: an address of two interfaces, a success without its row or
 * its reservation, a row of an ADD that has failed. Static addresses have no row. Networks without
 * reservations may have addresses of others.
 */
export function faultsIn(one: Case): readonly string[] {
  const { final } = one
  const held = new Map<string, StepCall>()
  const faults: string[] = []
  const idOf = ({ container, ifname }: StepCall) => `${container} ${ifname}`
  const calls = callsIn(one)
  const rows = poolsIn(final).flatMap(({ pool }) =>
    readRows(pool).rows.map((row) => ({ ...row, text: Address.format(row.address) })),
  )
  for (const call of calls.filter(({ command }) => command === 'ADD')) {
    const isLast = !calls.some(
      (other) => other.step > call.step && idOf(other) === idOf(call) && ['ADD', 'DEL'].includes(other.command),
    )
    if (!isLast || /\bfor \w+ in\b/.test(call.text)) continue
    const own = rows.filter(({ id, ifname }) => id === call.container && (ifname ?? '') === call.ifname)
    const earlier = calls.some((other) => other.step < call.step && idOf(other) === idOf(call))
    if (call.exit !== 0 && own.length > 0 && !earlier && !hadBefore(one, call))
      faults.push(`${idOf(call)}: a row and no success`)
    if (call.exit !== 0) continue
    const dynamic = call.addresses.filter(
      (address) => !call.text.includes(`"address":"${address}"`) && !call.text.includes(`IP=${address}`),
    )
    for (const address of dynamic.map((text) => Address.format(Prefix.parse(text).address))) {
      const other = held.get(address)
      const isShared = other !== undefined && networkOf(other) === networkOf(call) && [call, other].every(isProtected)
      if (isShared) faults.push(`${address} is that of ${idOf(other)} and of ${idOf(call)}`)
      held.set(address, call)
      if (!own.some(({ text }) => text === address)) faults.push(`${address} of ${idOf(call)} has no row`)
      if (isProtected(call) && !hasReservation(final, call, address))
        faults.push(`${address} of ${idOf(call)} has no reservation`)
    }
  }
  return faults
}

/** Whether the network reserves its addresses: others may have the same ones. */
function isProtected({ text }: StepCall): boolean {
  return !text.includes('"enable_overlapping_ranges":false')
}

/** Whether steps have made a row of the container. */
function hadBefore(one: Case, { container }: StepCall): boolean {
  return madePools(one).some((pool) => readRows(pool).rows.some(({ id }) => id === container))
}

export function networkOf({ text }: StepCall): string {
  return /"network_name":"([^"]*)"/.exec(text)?.[1] ?? ''
}

function hasReservation(final: Objects, call: StepCall, address: string): boolean {
  const network = networkOf(call)
  const name = address.replaceAll(':', '-').replace(/-$/, '-0')
  const object = final[`OverlappingRangeIPReservation/${network === '' ? '' : `${network}-`}${name}`] as
    | { readonly spec: { readonly podref: string } }
    | undefined
  return object?.spec.podref.endsWith(`/${call.pod}`) === true
}
