import { AddressPool, Bitmap, Ledger } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { ClusterApi, Core, InCluster, IpamKit, Metal3, Networking, NodeIpam, OpenStack } from 'ipam-kit/crd'
import { ObjectCache } from 'ipam-kit/plan'
import { inCluster, PoolLedger } from 'ipam-kit/provider/in-cluster'
import { networkView } from 'ipam-kit/provider/network-view'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloudWorld } from 'ipam-kit/testing'
import * as z from 'zod'
import type { ArgumentType, Member, Signature } from './argument-types.js'
import { throwing } from './wrong-values.js'

// Where an argument can be wrong, to three members below it, and with what.

/** The depth of the members of an argument that are called with wrong values. */
const DEPTH = 3

/** A part of an argument: `['options', 'ranges', '[]']`. A step `|1` is an alternative of a union. */
export interface Place {
  readonly parameter: number
  readonly path: readonly string[]
  readonly type: ArgumentType
  /** Whether it is, or is part of, an object that takes the members of its type and no others. */
  readonly isOption: boolean
}

/** All places of the arguments of a signature. */
export function placesOf({ parameters }: Signature): Place[] {
  return parameters.flatMap(({ type }, parameter) => [...placesIn(parameter, type, [], 0, false)])
}

function* placesIn(
  parameter: number,
  type: ArgumentType,
  path: readonly string[],
  depth: number,
  isOption: boolean,
): Generator<Place> {
  if (type.kind === 'union') {
    if (!path.at(-1)?.startsWith('|')) yield { parameter, path, type, isOption }
    for (const { name, type: one } of type.members()) {
      if (one.kind === 'object' || one.kind === 'list') {
        yield* placesIn(parameter, one, [...path, name], depth, isOption)
      }
    }
    return
  }
  if (!path.at(-1)?.startsWith('|')) yield { parameter, path, type, isOption }
  if (depth === DEPTH || type.kind === 'function' || isOpaque(type)) return
  const isClosed = isOptions(type)
  for (const member of type.members()) {
    yield* placesIn(parameter, member.type, [...path, member.name], depth + 1, isClosed)
  }
}

/**
 * Objects of options: a member that their type does not have is a mistake. The preferences of a
 * pool are fields of a custom resource, which may have more in a later version.
 */
export function isOptions(type: ArgumentType): boolean {
  if (type.name === 'FamilyGridPreferences') return false
  return type.kind === 'object' && /(?:Options|Preferences|Limits|Rules)$/u.test(type.name)
}

/** A wrong value, by a word. */
export type Wrong = readonly [what: string, make: () => unknown]

const VALUES: readonly (readonly [what: string, kinds: readonly ArgumentType['kind'][], make: () => unknown])[] = [
  ['a text', ['text'], () => 'nummeric'],
  ['a number', ['number'], () => 5],
  ['NaN', [], () => Number.NaN],
  ['true', ['flag'], () => true],
  ['{}', ['dictionary'], () => ({})],
  ['[]', ['list', 'iterable'], () => []],
  ['a list of nothing', [], () => [undefined]],
  ['a function', ['function'], () => () => undefined],
  ['a Date', [], () => new Date(0)],
  ['a proxy that throws', [], () => throwing],
]

/** The values that the type of a place does not have. */
export function wrongFor({ type }: Place): Wrong[] {
  const wrong: Wrong[] = VALUES.filter(([what, kinds]) => !takes(type, what, kinds)).map(([what, , make]) => [
    what,
    make,
  ])
  if (!type.isOptional && type.kind !== 'any') wrong.push(['undefined', () => undefined])
  if (!type.isNullable && type.kind !== 'any') wrong.push(['null', () => null])
  return wrong
}

function takes(type: ArgumentType, what: string, kinds: readonly ArgumentType['kind'][]): boolean {
  if (type.kind === 'union') return type.members().some((one) => takes(one.type, what, kinds))
  if (type.kind === 'any' || kinds.includes(type.kind)) return true
  if (type.kind === 'object' && (what === '{}' || what === 'a Date' || what === 'a function')) {
    return type.members().every((member) => member.type.isOptional)
  }
  return what === 'a list of nothing' && ['list', 'iterable'].includes(type.kind)
    ? type.members().every((member) => member.type.isOptional || member.type.kind === 'any')
    : false
}

/** The arguments of a call, right but for one place. */
export function argumentsWith({ parameters }: Signature, { parameter, path }: Place, value: unknown): unknown[] {
  return parameters
    .map((one, nth) => (nth === parameter ? build(one, path, value) : rightOf(one)))
    .slice(0, Math.max(parameter + 1, parameters.findLastIndex(({ type }) => !type.isOptional) + 1))
}

function build(at: Member, path: readonly string[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  const { type } = at
  const member = type.members().find(({ name }) => name === step)!
  const inner = build(step.startsWith('|') ? { name: at.name, type: member.type } : member, rest, value)
  if (step.startsWith('|')) return inner
  if (step === '[]') return type.name === 'Set' || type.name === 'ReadonlySet' ? new Set([inner]) : [inner]
  const whole = right(at, 0) as object
  return { ...whole, [step]: inner }
}

export function rightOf(member: Member): unknown {
  return member.type.isOptional ? undefined : right(member, 0)
}

const models = Object.fromEntries(
  [ClusterApi, Core, InCluster, IpamKit, Metal3, Networking, NodeIpam, OpenStack].flatMap((group) =>
    Object.entries(group).flatMap(([name, value]) => {
      const info = (value as { info?: { apiVersion: string; kind: string } } | null)?.info
      return info === undefined ? [] : [[name, { apiVersion: info.apiVersion, kind: info.kind }]]
    }),
  ),
)

const view = networkView({ nodes: [], clusterCIDRs: [] })

/** Right values of types that are more than their members. */
const RIGHT: Readonly<Record<string, () => unknown>> = {
  Address: () => Address.parse('10.0.0.1'),
  Address4: () => Address.parse('10.0.0.1'),
  Address6: () => Address.parse('fd00::1'),
  Prefix: () => Prefix.parse('10.0.0.0/24'),
  Range: () => Range.parse('10.0.0.1-10.0.0.2'),
  RangeSet: () => RangeSet.parse(['10.0.0.0/24']),
  Store: () => memoryStore({ now: () => 0 }),
  Planner: () => inCluster(),
  Task: () => ({ next: () => ({ kind: 'done', outcome: { kind: 'Done', message: '' } }), observe: () => undefined }),
  AddressPool: () => new AddressPool({ ranges: ['10.0.0.0/29'] }),
  Bitmap: () => new Bitmap(64),
  Ledger: () => new Ledger({ space: RangeSet.parse(['10.0.0.0/29']) }),
  ObjectCache: () => new ObjectCache(),
  PoolLedger: () => new PoolLedger(),
  AddressLedger: () => new PoolLedger(),
  NetworkView: () => view,
  FakeCloudWorld: () => new FakeCloudWorld({ now: () => 0 }),
  ZodType: () => z.unknown(),
  Model: () => Core.Node,
  CrdModel: () => NodeIpam.ClusterCIDR,
  Uint8Array: () => new Uint8Array([1]),
  Date: () => new Date(0),
  RegExp: () => /x/u,
  AbortSignal: () => new AbortController().signal,
}

const OPAQUE = /^(?:ZodType|Model|CrdModel|Uint8Array|Date|RegExp|Promise|AbortSignal)$/u

function isOpaque(type: ArgumentType): boolean {
  return type.isClass || OPAQUE.test(type.name)
}

const TEXTS: readonly (readonly [of: RegExp, text: string])[] = [
  [/v6/iu, 'fd00::/112'],
  [/gateway|^ip$|^address$|nameserver|dns/iu, '10.0.0.1'],
  [/v4|cidr|range|prefix|subnet|addresses|text/iu, '10.0.0.0/24'],
  [/time|timestamp|^now$|^at$/iu, '2026-01-01T00:00:00Z'],
  [/^apiVersion$/u, 'v1'],
  [/.*/u, 'x'],
]

const NUMBERS: readonly (readonly [of: RegExp, number: number])[] = [
  [/length|^prefix$/iu, 28],
  [/bits/iu, 8],
  [/.*/u, 1],
]

/** How deep a right value is made: types may contain themselves. */
const MOST = 6

function right({ name, type }: Member, depth: number): unknown {
  const made = Object.hasOwn(RIGHT, type.name) ? RIGHT[type.name] : undefined
  if (made !== undefined) return made()
  switch (type.kind) {
    case 'text':
      return TEXTS.find(([of]) => of.test(name))![1]
    case 'number':
      return NUMBERS.find(([of]) => of.test(name))![1]
    case 'bigint':
      return 1n
    case 'flag':
      return false
    case 'choice':
      return type.values[0]
    case 'list':
    case 'iterable':
      return type.name === 'Map' || type.name === 'ReadonlyMap' ? new Map() : /Set$/u.test(type.name) ? new Set() : []
    case 'dictionary':
      return {}
    case 'union':
      return right({ name, type: type.members()[0]!.type }, depth)
    case 'function': {
      const result = type.members()[0]
      return () => (result === undefined || depth > 2 ? undefined : right(result, depth + 1))
    }
    case 'any':
      return undefined
    case 'object': {
      if (depth > MOST) return {}
      if (type.name === 'Promise') return Promise.resolve(right(type.members()[0]!, depth + 1))
      const members = type.members().filter((member) => !member.type.isOptional)
      const whole = Object.fromEntries(members.map((member) => [member.name, right(member, depth + 1)]))
      return { ...whole, ...models[type.name] }
    }
  }
}
