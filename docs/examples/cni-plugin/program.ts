import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import type { CniAnswer } from 'ipam-kit/cni'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { callDaemon } from './call-daemon.js'
import type { ProgramFlags } from './thin.js'

/** flag-texts.ts says what each does. */
export const FLAGS = {
  rules: { type: 'string' },
  sticky: { type: 'string' },
  'claim-owners': { type: 'string' },
  record: { type: 'string' },
  daemon: { type: 'string' },
  socket: { type: 'string' },
  fallback: { type: 'string' },
} as const

/** The program of the plugin: see main.ts for its flags. It ends the process. */
export async function runProgram(): Promise<void> {
  const { values } = parseArgs({ options: FLAGS })
  const { rules, sticky, record, daemon, socket, fallback } = values
  const flags = {
    rules: oneOf('rules', rules, 'upstream'),
    sticky: oneOf('sticky', sticky, 'pod'),
    claimOwners: kindsOf(values['claim-owners']),
    record,
  }
  const canFallBack = oneOf('fallback', fallback, 'thin') !== undefined
  if (daemon !== undefined) return serveShims(daemon, flags)
  const { env, stdin } = process
  const thin = (given: Readable) => runThin(flags, given)
  const { stdout, exitCode } =
    socket === undefined || env.CNI_COMMAND === 'VERSION'
      ? await thin(stdin)
      : await callDaemon(socket, { env, stdin, fallback: canFallBack ? thin : undefined })
  // a runtime that has closed its end does not read the answer
  process.stdout.once('error', () => process.exit(1))
  process.stdout.write(stdout, () => process.exit(exitCode))
}

/** A call that is passed on does not load this half of the program. */
async function runThin(flags: ProgramFlags, stdin: Readable): Promise<CniAnswer> {
  const thin = await import('./thin.js')
  return thin.runThin(flags, process.env, stdin)
}

async function serveShims(socket: string, flags: ProgramFlags): Promise<void> {
  const { runDaemon } = await import('./thick.js')
  try {
    await runDaemon(socket, flags, process.env)
    process.exit(0)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

function kindsOf(text: string | undefined): readonly KindInfo[] | undefined {
  return text?.split(',').map((each) => {
    const [group = '', version = '', plural = '', kind = '', ...more] = each.split('/')
    if (more.length > 0 || [group, version, plural, kind].includes('')) {
      console.error(
        `--claim-owners (${each}) must be GROUP/VERSION/PLURAL/KIND, such as apps/v1/statefulsets/StatefulSet`,
      )
      process.exit(2)
    }
    return { apiVersion: `${group}/${version}`, kind, plural, namespaced: true, statusSubresource: true }
  })
}

function oneOf<T extends string>(flag: string, value: string | undefined, only: T): T | undefined {
  if (value === undefined) return undefined
  if (value === only) return only
  console.error(`--${flag} is ${only} or left out`)
  process.exit(2)
}
