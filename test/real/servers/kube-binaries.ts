import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, keyOf, withLock } from './cache.js'
import { findProgram, run } from './tools.js'

const MODULE = fileURLToPath(new URL('../kube', import.meta.url))
const LIST_SECONDS = 10 * 60
const BUILD_SECONDS = 40 * 60
const TELL_SECONDS = 30

const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
} as const

export type KubeBinary = keyof typeof PACKAGES

/** Built at once where several are missing: most of their packages are the same. */
const GROUPS: readonly (readonly KubeBinary[])[] = [['etcd'], ['kube-apiserver', 'kube-controller-manager']]
export const KUBE_BINARIES = GROUPS.flat()

/**
 * The file of a program that is built from ../kube, whose go.mod and go.sum pin it to the last
 * byte. It is built once, which takes minutes, and kept in the cache.
 *
 * @throws Error if it is not in the cache and cannot be built; it says why
 */
export async function kubeBinary(name: KubeBinary): Promise<string> {
  const go = findGo()
  const mod = readFileSync(join(MODULE, 'go.mod'), 'utf8')
  const sum = readFileSync(join(MODULE, 'go.sum'), 'utf8')
  const flags = flagsFor(name, mod)
  const [version, os, arch] = (await run(go, ['env', 'GOVERSION', 'GOOS', 'GOARCH'], { cwd: MODULE, env })).split('\n')
  const key = `${os}-${arch}-${keyOf(mod, sum, version!, ...flags)}`
  const fileOf = (program: KubeBinary) => join(cacheFolder('kube', `${program}-${key}`), program)
  const group = GROUPS.find((programs) => programs.includes(name))!
  const missing = () => group.filter((program) => !existsSync(fileOf(program)))
  if (existsSync(fileOf(name))) return fileOf(name)
  const lock = join(cacheFolder('kube'), `${group[0]}-${key}.lock`)
  await withLock(lock, `builds ${missing().join(' and ')}`, async () => {
    if (missing().length > 0) await build({ go, flags, programs: missing(), fileOf })
  })
  return fileOf(name)
}

// no C compiler, and no workspace around us, has a say
const env = { CGO_ENABLED: '0', GOWORK: 'off' }

function findGo(): string {
  const go = findProgram('go', ['/usr/local/go/bin'])
  if (go !== undefined) return go
  const wanted = /^go (\S+)$/m.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8'))?.[1]
  throw new Error(`no Go here: install Go ${wanted} or later, and put it on the PATH or into /usr/local/go`)
}

/** Without a version in its flags, Kubernetes says that it is v0.0.0. */
function flagsFor(name: KubeBinary, mod: string): string[] {
  const [, version, major, minor] = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\S*)/.exec(mod)!
  const at = 'k8s.io/component-base/version.git'
  const versions = `-X ${at}Version=${version} -X ${at}Major=${major} -X ${at}Minor=${minor}`
  return ['-trimpath', '-buildvcs=false', `-ldflags=-s -w${name === 'etcd' ? '' : ` ${versions}`}`]
}

interface Build {
  readonly go: string
  readonly flags: readonly string[]
  readonly programs: readonly KubeBinary[]
  readonly fileOf: (program: KubeBinary) => string
}

async function build({ go, flags, programs, fileOf }: Build): Promise<void> {
  const names = programs.join(' and ')
  const packages = programs.map((program) => PACKAGES[program])
  const work = mkdtempSync(join(cacheFolder('kube'), 'build-'))
  const start = performance.now()
  const seconds = () => Math.round((performance.now() - start) / 1000)
  const tell = (text: string) => console.log(`  ${names}: ${text}`)
  let doing = 'reading the sources with Go, which downloads them the first time'
  tell(`not in the cache: ${doing}`)
  const teller = setInterval(() => tell(`${doing}, for ${seconds()} s now`), TELL_SECONDS * 1000)
  try {
    const listed = await run(go, ['list', '-deps', ...packages], { cwd: MODULE, env, seconds: LIST_SECONDS })
    const total = listed.trimEnd().split('\n').length
    tell(`compiling up to ${total} packages, which takes minutes and is done once`)
    let compiled = 0
    // the last minutes go into linking: the number then stays as it is
    const onLine = (line: string) => {
      if (!line.startsWith('go: ')) compiled++
      doing = `${compiled} of up to ${total} packages compiled`
    }
    // the names of programs end the paths of their packages, but for that of etcd
    const out = packages.length === 1 ? join(work, programs[0]!) : `${work}/`
    const args = ['build', '-v', ...flags, '-o', out, ...packages]
    await run(go, args, { cwd: MODULE, env, seconds: BUILD_SECONDS, onLine })
    for (const program of programs) renameSync(join(work, program), fileOf(program))
    tell(`built in ${seconds()} s, ${compiled} packages compiled`)
  } finally {
    clearInterval(teller)
    rmSync(work, { recursive: true, force: true })
  }
}
