import { type ParseArgsConfig, parseArgs } from 'node:util'

/** One flag, as `parseArgs` of node:util takes it, with what it means. */
type FlagOption = NonNullable<ParseArgsConfig['options']>[string] & {
  /** What the flag does, and which values it takes. docs/reference/programs.md shows it. */
  readonly about: string
}

/** The flags of a program. */
export interface FlagOptions {
  readonly [name: string]: FlagOption
}

/** What the flags of a program say, by their names. */
export type FlagValues<F extends FlagOptions> = ReturnType<typeof parseArgs<{ readonly options: F }>>['values']

/** A command line that the program does not understand: one sentence for the one who wrote it. */
export class FlagError extends Error {
  override readonly name = 'FlagError'
}

/** The flags that each program has. */
export const COMMON_FLAGS = {
  'leader-elect': {
    type: 'boolean',
    default: false,
    about: 'one process works at a time: the holder of the Lease. Without it, never run a second process',
  },
  namespace: {
    type: 'string',
    default: 'ipam-system',
    about: 'the namespace of the Lease. For another one, change the Role in rbac.yaml too',
  },
  'lease-duration': {
    type: 'string',
    default: '15',
    about: 'whole seconds: how long other processes wait after the last renewal of the leader',
  },
  'renew-deadline': {
    type: 'string',
    default: '10',
    about: 'seconds: the leader ends after this time without a renewal. At least 2 below `--lease-duration`',
  },
  'retry-period': {
    type: 'string',
    default: '2',
    about: 'seconds between two tries to renew or take the Lease. Below `--renew-deadline`',
  },
  metrics: {
    type: 'string',
    default: '8080',
    about: 'the port of `/metrics` and `/healthz`, on all interfaces. 0: none',
  },
  concurrency: { type: 'string', default: '8', about: 'how many plans are carried out at a time, from 1' },
} as const satisfies FlagOptions

/** What {@link COMMON_FLAGS} say. */
export interface Settings {
  readonly elects: boolean
  readonly namespace: string
  readonly leaseDurationSeconds: number
  readonly renewDeadlineSeconds: number
  readonly retryPeriodSeconds: number
  /** After this many seconds a server gives up a write. */
  readonly writeTimeoutSeconds: number
  readonly metricsPort: number
  readonly concurrency: number
}

/**
 * Reads a command line. A flag that is on or off may be written as in Go too:
 * `--leader-elect=true`, `--leader-elect=false`.
 *
 * @throws FlagError
 */
export function parseFlags<F extends FlagOptions>(options: F, args: readonly string[]): FlagValues<F> {
  try {
    const plain = args.map((arg) => withoutValue(arg, options))
    return parseArgs({ options, args: plain, allowNegative: true }).values as FlagValues<F>
  } catch (error) {
    throw new FlagError((error as Error).message)
  }
}

function withoutValue(arg: string, options: FlagOptions): string {
  const [, name = '', value] = /^--([^=]+)=(true|false)$/.exec(arg) ?? []
  if (options[name]?.type !== 'boolean') return arg
  return value === 'true' ? `--${name}` : `--no-${name}`
}

/** @throws FlagError */
export function readSettings(values: FlagValues<typeof COMMON_FLAGS>): Settings {
  const metricsPort = numberOf(values, 'metrics', 'a port from 1 to 65535, or 0 for none', (n) => isWhole(n, 0, 65_535))
  const concurrency = numberOf(values, 'concurrency', 'a whole number from 1', (n) => isWhole(n, 1))
  const leaseDurationSeconds = Number(values['lease-duration'])
  const renewDeadlineSeconds = Number(values['renew-deadline'])
  // no process leads between the two: what the last leader has sent must end in that time, and
  // servers count whole seconds
  if (!(leaseDurationSeconds - renewDeadlineSeconds >= 2)) {
    const given = [`--lease-duration (${values['lease-duration']})`, `--renew-deadline (${values['renew-deadline']})`]
    const sentence = 'a write that the last leader has sent must end in between'
    throw new FlagError(`${given.join(' must be 2 s or more above ')}: ${sentence}`)
  }
  numberOf(values, 'lease-duration', 'whole seconds', (n) => isWhole(n, 0))
  numberOf(values, 'renew-deadline', 'seconds above 0', (n) => n > 0)
  const retryPeriodSeconds = numberOf(
    values,
    'retry-period',
    'seconds above 0 and below --renew-deadline',
    (n) => n > 0 && n < renewDeadlineSeconds,
  )
  const { namespace = '' } = values
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new FlagError(`--namespace (${namespace}) must be the name of a namespace`)
  }
  return {
    elects: values['leader-elect'] === true,
    namespace,
    leaseDurationSeconds,
    renewDeadlineSeconds,
    retryPeriodSeconds,
    writeTimeoutSeconds: Math.ceil(leaseDurationSeconds - renewDeadlineSeconds) - 1,
    metricsPort,
    concurrency,
  }
}

/**
 * The number that a flag says.
 *
 * @param what it must be, in words
 * @throws FlagError
 */
export function numberOf<N extends string>(
  values: { readonly [name in N]?: string | undefined },
  name: N,
  what: string,
  isRight: (n: number) => boolean,
): number {
  const text = values[name] ?? ''
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!isRight(number)) throw new FlagError(`--${name} (${text}) must be ${what}`)
  return number
}

export function isWhole(n: number, least: number, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(n) && n >= least && n <= most
}
