import { vmClaimName } from 'ipam-kit/crd/ipamclaims'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const inputSchema = z.strictObject({ vm: z.string().default(''), network: z.string().default('') })

/** The names of the IPAMClaims of a VM of KubeVirt. */
export function persistentClaimNames({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const made = vmClaimName(known.data)
  const name = nameOf(made)
  return answerKeys(expect, {
    name: () => name,
    validSubdomain: () => made.ok,
    error: () => !made.ok,
    // another case, by its title
    collidesWith: (asked) => {
      const parts = /^name: (.*) \+ (.*)$/su.exec(String(asked))
      const other = parts === null ? undefined : vmClaimName({ vm: textOf(parts[1]), network: textOf(parts[2]) })
      return other !== undefined && nameOf(other) === name ? asked : name
    },
  })
}

function nameOf(made: ReturnType<typeof vmClaimName>): string {
  return made.ok ? made.value : made.failure.context.name
}

/** A title has `63*a` for a text of one letter. */
function textOf(title = ''): string {
  const repeated = /^(\d{1,3})\*(.)$/u.exec(title)
  return repeated === null ? title : repeated[2]!.repeat(Number(repeated[1]))
}
