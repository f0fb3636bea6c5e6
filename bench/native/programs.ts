import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from '../child.js'

/** A program that does the work with the libraries of another language. */
export interface Program {
  readonly language: Language
  readonly file: string
  /** Whether a peer is of this language. */
  readonly speaksFor: (peer: string) => boolean
}

/**
 * What a program prints for a work and a peer: a time for each operation and what came out, or the
 * bytes that each part takes.
 */
export interface Reply {
  readonly work: string
  readonly peer: string
  readonly ns?: number
  readonly answer?: number
  readonly bytes?: number
}

type Language = 'Go' | 'Rust'
export const LANGUAGES: readonly Language[] = ['Go', 'Rust']

/** Compiled programs stay here, outside the repository. */
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ipam-kit', 'bench')

/** The program, or a sentence that says why there is none. */
export function build(language: Language): Program | string {
  const { command, args, file } = language === 'Go' ? go() : rust()
  if (spawnSync(command, ['version'], { stdio: 'ignore' }).error !== undefined) {
    return `no ${language} here: there is no command ${command}`
  }
  mkdirSync(cache, { recursive: true })
  const cwd = fileURLToPath(new URL(`./${language.toLowerCase()}`, import.meta.url))
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] })
  if (status !== 0) return `the program in ${language} could not be built:\n${stderr}`
  return { language, file, speaksFor: speaks(language) }
}

/** Whether a peer is of a language: its name begins with it. */
export function speaks(language: Language): (peer: string) => boolean {
  return (peer) => peer.startsWith(`${language} `)
}

/** Runs a program for one work. It prints a line of JSON for each peer that it has. */
export function run({ language, file }: Program, corpora: string, work: string): Reply[] {
  const { status, stdout } = spawnSync(file, [corpora, work], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`the program in ${language} failed at ${work}`)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Reply)
}

/** Our side of a work, as the programs do theirs: in a process that does nothing else. */
export function runOurs(work: string): { readonly ns: number; readonly answer: unknown } {
  return runChild('./native/our-program.ts', { args: [work] })
}

function go() {
  const file = join(cache, 'native-go')
  return { command: 'go', args: ['build', '-trimpath', '-buildvcs=false', '-o', file, '.'], file }
}

function rust() {
  const target = join(cache, 'native-rust')
  const args = ['build', '--release', '--locked', '--quiet', '--target-dir', target]
  return { command: 'cargo', args, file: join(target, 'release', 'native') }
}
