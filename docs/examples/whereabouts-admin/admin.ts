import type { KindInfo } from 'ipam-kit/crd/meta'
import type { OpenStore } from '../open-store.js'
import { FlagError, type FlagOptions, parseFlags } from '../program/flags.js'
import type { Command, Exit } from './command.js'
import { release } from './release.js'
import { show } from './show.js'
import { upgrade } from './upgrade.js'

/** What the program needs of the process. */
export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined }
  open(kinds: readonly KindInfo[]): Promise<OpenStore>
  print(text: string): void
  complain(text: string): void
  now(): number
}

/** Flags of each command. */
export const FLAGS = {
  'pool-namespace': {
    type: 'string',
    about: 'the namespace of the objects of whereabouts. Left out: WHEREABOUTS_NAMESPACE, else kube-system',
  },
  blocks: {
    type: 'boolean',
    default: true,
    about: 'pass `--no-blocks` in a cluster without the kinds of blocks',
  },
} as const satisfies FlagOptions

export const COMMANDS: { readonly [name: string]: Command } = { show, release, upgrade }

/** Carries out one command line. @returns the exit code */
export async function admin(args: readonly string[], around: Surroundings): Promise<Exit> {
  try {
    return await run(args, around)
  } catch (error) {
    if (!(error instanceof FlagError)) throw error
    around.complain(error.message)
    return 2
  }
}

/**
 * Reads a command line.
 *
 * @throws FlagError
 */
export function readLine(args: readonly string[]) {
  const firstFlag = args.findIndex((arg) => arg.startsWith('-'))
  const [name = '', ...words] = firstFlag < 0 ? args : args.slice(0, firstFlag)
  const command = COMMANDS[name]
  if (command === undefined) throw new FlagError(`say what to do: ${Object.keys(COMMANDS).join(', ')}`)
  const values = parseFlags({ ...FLAGS, ...command.flags }, firstFlag < 0 ? [] : args.slice(firstFlag))
  return { name, command, values, action: command.read(words, values) }
}

async function run(args: readonly string[], { env, open, print, now }: Surroundings): Promise<Exit> {
  const { command, values, action } = readLine(args)
  const namespace = `${values['pool-namespace'] || env.WHEREABOUTS_NAMESPACE || 'kube-system'}`
  const hasBlocks = values.blocks === true
  const { store, close } = await open(command.kinds(hasBlocks))
  try {
    return await action({ store, namespace, hasBlocks, print, now })
  } finally {
    await close()
  }
}
