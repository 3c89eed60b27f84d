//! Every row agrees with the processor. The long run is `metaloc selftest x86`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use iced_x86::{Code, CpuidFeature, EncodingKind, Mnemonic, OpCodeOperandKind as Kind};
use metaloc_prover::cpu::{domains_agree, judge_row, runs_in};
use metaloc_prover::x86::{Mode, rows};
use std::collections::BTreeSet;

fn judge_all(mode: Mode) {
    if !runs_in(mode) {
        eprintln!("skipped: this kernel runs no {}-bit code", mode.address_bits());
        return;
    }
    let mut disagreements = Vec::new();
    for code in rows::forms_in(mode) {
        let report = judge_row(mode, code, 300, 1).unwrap();
        assert!(report.states >= 100, "{code:?}: only {} of 300 states have a certain result", report.states);
        disagreements.extend(report.mismatches);
    }
    assert!(disagreements.is_empty(), "{disagreements:#x?}");
}

#[test]
fn every_row_agrees_with_the_processor() {
    judge_all(Mode::Bits64);
}

#[test]
fn every_32_bit_row_agrees_with_the_processor() {
    judge_all(Mode::Bits32);
}

#[test]
fn every_row_means_the_same_in_both_domains() {
    for mode in Mode::ALL {
        let rows = rows::forms_in(mode);
        let disagreements: Vec<String> =
            rows.filter_map(|code| domains_agree(mode, code, 2, 1).err()).collect();
        assert!(disagreements.is_empty(), "{disagreements:#?}");
    }
}

/// What gcc and clang make of the kernels, of bzip2 and of gzip for integers, without conditions and suffixes.
#[test]
fn instructions_of_the_kernels_and_of_bzip2_have_rows() {
    let names = "mov movsxd cdqe lea add adc sub sbb and or xor not neg inc dec imul mul idiv div shl shr sar shld shrd \
        rol ror cmp test bt push pop call ret jmp je seta cmovne movzx movsx cdq cqo movdqa movdqu movaps movups movapd \
        movd movq movhps movhlps movlps paddb paddw paddd paddq psubd psubq psubusw pmulld pmullw pmuludq pxor pand \
        pandn por xorps xorpd pcmpeqb pcmpeqd pcmpgtd pmaxsd pminsd pshufd pshuflw pshufhw shufps palignr punpcklbw \
        punpcklwd punpckldq punpcklqdq punpckhbw punpckhwd punpckhdq packssdw packsswb packuswb psrldq pslld psllq psrlw \
        psrld psrlq psrad pblendw pblendvb blendvps pextrb pextrw pextrd pinsrw pinsrd pmovsxbd pmovmskb";
    let known: BTreeSet<String> =
        rows::mnemonics().map(|mnemonic| format!("{mnemonic:?}").to_lowercase()).collect();
    let missing: Vec<&str> = names.split_whitespace().filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// All forms of all of them, but for comparisons of strings.
#[test]
fn integer_vector_instructions_up_to_sse4_2_have_rows() {
    let families = [CpuidFeature::SSE2, CpuidFeature::SSSE3, CpuidFeature::SSE4_1, CpuidFeature::SSE4_2];
    let vector = |kind: &Kind| matches!(kind, Kind::xmm_reg | Kind::xmm_rm | Kind::xmm_or_mem);
    let (mut missing, mut there) = (BTreeSet::new(), 0);
    for code in Code::values() {
        let info = code.op_code();
        let name = format!("{:?}", code.mnemonic()).to_lowercase();
        // All of them begin so, but for mpsadbw, which has a row, and a masked store.
        let integer = name.starts_with('p') && info.op_kinds().iter().any(vector);
        let family = code.cpuid_features().iter().any(|feature| families.contains(feature));
        if info.encoding() != EncodingKind::Legacy || !family || !integer {
            continue;
        }
        let modes = [(Mode::Bits64, info.mode64()), (Mode::Bits32, info.mode32())];
        for (mode, _) in modes.into_iter().filter(|(_, valid)| *valid) {
            match rows::meaning_in(mode, code) {
                Some(_) => there += 1,
                None => missing.extend([name.trim_end_matches("64").to_owned()]),
            }
        }
    }
    let strings = ["pcmpestri", "pcmpestrm", "pcmpistri", "pcmpistrm"];
    assert_eq!(missing.iter().map(String::as_str).collect::<Vec<_>>(), strings);
    assert!(there > 200, "{there}");
}

#[test]
fn strings_and_x87_have_no_rows() {
    let none = |mnemonic: Mnemonic, code: Code| {
        code.mnemonic() != mnemonic || Mode::ALL.iter().all(|mode| rows::meaning_in(*mode, code).is_none())
    };
    for mnemonic in [
        Mnemonic::Stosb,
        Mnemonic::Stosq,
        Mnemonic::Movsb,
        Mnemonic::Movsq,
        Mnemonic::Scasb,
        Mnemonic::Cmpsb,
        Mnemonic::Lodsb,
        Mnemonic::Fld,
        Mnemonic::Fadd,
        Mnemonic::Fistp,
    ] {
        assert!(Code::values().all(|code| none(mnemonic, code)), "{mnemonic:?}");
    }
}
